// needs: basics_f64 abs_f64 log_split_f64 log1p_parts_f64 log_special_f64
TK_FN tk_f64 tk_log1p_f64(tk_f64 x) {
  tk_f64 n;
  const tk_f64 u = 1.0 + x;
  const tk_f64 f = tk_log_split_f64(u, &n);
  /* What rounding u lost, on the scale of f. */
  const tk_f64 lost = tk_abs_f64(x) < 1.0 ? x - (u - 1.0) : 1.0 - (u - x);
  const tk_f64 scale = n > 1022.0 ? 0.0 : tk_from_bits_f64((tk_i64)((tk_u64)(1023 - (tk_i32)n) << 52));
  const tk_f64 value = tk_log1p_parts_f64(tk_fma_f64(lost, scale, f), n);
  return x == 0 ? x : tk_log_special_f64(u, value);
}
