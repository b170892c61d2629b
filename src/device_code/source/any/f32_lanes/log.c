// needs: log_split_TYPE log1p_parts_TYPE log_special_TYPE
TK_FN TK_T tk_log_TYPE(TK_T x) {
  TK_T n;
  const TK_T f = tk_log_split_TYPE(x, &n);
  return tk_log_special_TYPE(x, tk_log1p_parts_TYPE(f, n));
}
