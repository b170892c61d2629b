// needs: erf_small_f64 erfc_large_f64 abs_f64 copysign_f64
TK_FN tk_f64 tk_erf_f64(tk_f64 x) {
  const tk_f64 magnitude = tk_abs_f64(x);
  return magnitude < 1.0 ? tk_erf_small_f64(x) : tk_copysign_f64(1.0 - tk_erfc_large_f64(magnitude), x);
}
