// needs:
/* Of index arithmetic: rounds down; y >= 0, 0 where y is 0. */
TK_FN TK_T tk_floor_div_TYPE(TK_T x, TK_T y) {
  const TK_T divisor = y == 0 ? 1 : y;
  return y == 0 ? 0 : x / divisor - (x % divisor < 0);
}
