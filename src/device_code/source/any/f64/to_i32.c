// needs:
/* Truncates, saturates; NaN gives 0. What truncates to 0 is replaced by 0: see to_i64. */
TK_FN tk_i32 tk_to_i32_f64(tk_f64 x) {
  const tk_i32 is_inside = (x >= 1 || x <= -1) && x > -2147483649.0 && x < 2147483648.0;
  const tk_i32 inside = (tk_i32)(is_inside ? x : 0.0);
  const tk_i32 outside = x >= 2147483648.0 ? 0x7fffffff : x <= -2147483649.0 ? -0x7fffffff - 1 : 0;
  return is_inside ? inside : outside;
}
