// needs: log_split_f32 log1p_parts_f32 abs_f32
TK_FN tk_f32 tk_log_f32(tk_f32 x) {
  tk_f32 n, special;
  const tk_f32 f = tk_log_split_f32(x, &n, &special);
  const tk_f32 value = tk_log1p_parts_f32(f, n);
  return tk_abs_f32(special) < tk_infinity_f32() ? value : special;
}
