// needs: lgamma_positive_f64 sin_f64 round_f64 abs_f64 basics_f64
/* log |gamma(x)|; for x < 0 by reflection, so that near a zero there the error is a few ulp of lgamma |x|, not of the result. */
TK_SLOW tk_f64 tk_lgamma_f64(tk_f64 x) {
  if (x != x) return x;
  const tk_f64 magnitude = tk_abs_f64(x);
  if (magnitude == 0.0 || magnitude == tk_infinity_f64()) return tk_infinity_f64();
  if (magnitude < 1e-18) return -tk_log_f64(magnitude);
  if (x > 0.0) return tk_lgamma_positive_f64(x);
  const tk_f64 away = magnitude - tk_round_f64(magnitude);
  if (away == 0.0) return tk_infinity_f64();
  const tk_f64 sine = tk_abs_f64(tk_sin_f64(away * 3.1415926535897931));
  return (1.1447298858494002 - tk_log_f64(magnitude * sine)) - tk_lgamma_positive_f64(magnitude);
}
