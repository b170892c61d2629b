// needs: erfcinv_f64 erfinv_small_f64 abs_f64 copysign_f64 basics_f64
TK_SLOW tk_f64 tk_erfinv_f64(tk_f64 x) {
  const tk_f64 magnitude = tk_abs_f64(x);
  if (!(magnitude <= 1.0)) return tk_nan_f64();
  return magnitude <= 0.5 ? tk_erfinv_small_f64(x) : tk_copysign_f64(tk_erfcinv_f64(1.0 - magnitude), x);
}
