// needs: log_split_f64 log1p_parts_f64 log_special_f64
TK_FN tk_f64 tk_log_f64(tk_f64 x) {
  tk_f64 n;
  const tk_f64 f = tk_log_split_f64(x, &n);
  return tk_log_special_f64(x, tk_log1p_parts_f64(f, n));
}
