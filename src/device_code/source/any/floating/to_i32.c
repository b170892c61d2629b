// needs:
/* Truncates, saturates; NaN gives 0. What truncates to 0 is replaced by 0: see to_i64. */
TK_FN tk_i32 tk_to_i32_TYPE(TK_T x) {
  const TK_T limit = (TK_T)2147483648.0;
  const tk_i32 is_inside = (x >= 1 || x <= -1) && x > -limit && x < limit;
  const tk_i32 inside = (tk_i32)(is_inside ? x : (TK_T)0);
  const tk_i32 outside = x >= limit ? 0x7fffffff : x <= -limit ? -0x7fffffff - 1 : 0;
  return is_inside ? inside : outside;
}
