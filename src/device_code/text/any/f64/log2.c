// needs: log_pair_f64 log_special_f64
TK_FN tk_f64 tk_log2_f64(tk_f64 x) {
  tk_f64 low;
  const tk_f64 high = tk_log_pair_f64(x, &low);
  const tk_f64 value = high * 1.4426950408889634;
  const tk_f64 rest = tk_fma_f64(high, 1.4426950408889634, -value) + tk_fma_f64(high, 2.0355273740931033e-17, low * 1.4426950408889634);
  return tk_log_special_f64(x, value + rest);
}
