// needs:
/* Truncates, saturates; NaN gives 0. */
TK_FN tk_i32 tk_to_i32_TYPE(TK_T x) {
  const TK_T limit = (TK_T)2147483648.0;
  const tk_i32 inside = (tk_i32)(x > -limit && x < limit ? x : (TK_T)0);
  const tk_i32 outside = x >= limit ? 0x7fffffff : x <= -limit ? -0x7fffffff - 1 : 0;
  return x > -limit && x < limit ? inside : outside;
}
