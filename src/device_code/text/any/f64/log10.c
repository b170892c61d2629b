// needs: log_pair_f64 log_special_f64
TK_FN tk_f64 tk_log10_f64(tk_f64 x) {
  tk_f64 low;
  const tk_f64 high = tk_log_pair_f64(x, &low);
  const tk_f64 value = high * 0.43429448190325182;
  const tk_f64 rest = tk_fma_f64(high, 0.43429448190325182, -value) + tk_fma_f64(high, 1.0983196502167651e-17, low * 0.43429448190325182);
  return tk_log_special_f64(x, value + rest);
}
