// needs: basics_TYPE abs_TYPE limits_TYPE exp_scale_TYPE
/* 1 + erf(x): erfc(|x|) left of 0, else 2 less that. erfc(|x|) = 2^P(|x|); P falls without end, and from -160 on the
   power is 0. */
TK_FN TK_T tk_one_plus_erf_TYPE(TK_T x) {
  const TK_T magnitude = tk_abs_TYPE(x);
  TK_T p = tk_splat_TYPE(-4.52989007e-5f);
  p = tk_horner_TYPE(p, magnitude, 0.00044510985f);
  p = tk_horner_TYPE(p, magnitude, -0.00148843427f);
  p = tk_horner_TYPE(p, magnitude, -0.000775869761f);
  p = tk_horner_TYPE(p, magnitude, 0.0282544531f);
  p = tk_horner_TYPE(p, magnitude, -0.148481831f);
  p = tk_horner_TYPE(p, magnitude, -0.918416381f);
  p = tk_horner_TYPE(p, magnitude, -1.62790859f);
  p = tk_at_least_TYPE(p * magnitude, -160.0f);
  /* Adding 1.5 * 2^23 rounds to an integer, which then stands in the low bits. */
  const TK_T shifted = p + 12583102.0f;
  const TK_T n = shifted - 12583102.0f;
  const TK_T r = p - n;
  TK_T q = tk_splat_TYPE(0.001322394f);
  q = tk_horner_TYPE(q, r, 0.00967178494f);
  q = tk_horner_TYPE(q, r, 0.0555089749f);
  q = tk_horner_TYPE(q, r, 0.240222365f);
  q = tk_horner_TYPE(q, r, 0.693146825f);
  TK_T a, b;
  tk_scale_parts_below_TYPE(n, tk_bits_TYPE(shifted), &a, &b);
  const TK_T rest = tk_scale_TYPE(tk_horner_TYPE(q, r, 1.0f), a, b);
  return tk_select_TYPE(x < 0.0f, rest, 2.0f - rest);
}
