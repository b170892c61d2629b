// needs: erf_small_f64 erfc_large_f64 abs_f64
TK_FN tk_f64 tk_erfc_f64(tk_f64 x) {
  const tk_f64 magnitude = tk_abs_f64(x);
  if (magnitude < 0.5) return 1.0 - tk_erf_small_f64(x);
  const tk_f64 tail = tk_erfc_large_f64(magnitude);
  return x < 0 ? 2.0 - tail : tail;
}
