// needs:
/* Truncates, saturates; NaN gives 0. What truncates to 0 is replaced by 0: gcc takes the way to integers and back for a truncation, which keeps
   the sign of 0. */
TK_FN tk_i64 tk_to_i64_TYPE(TK_T x) {
  const TK_T limit = (TK_T)9223372036854775808.0;
  const tk_i32 is_inside = (x >= 1 || x <= -1) && x > -limit && x < limit;
  const tk_i64 inside = (tk_i64)(is_inside ? x : (TK_T)0);
  const tk_i64 outside = x >= limit ? 0x7fffffffffffffffLL : x <= -limit ? -0x7fffffffffffffffLL - 1 : 0;
  return is_inside ? inside : outside;
}
