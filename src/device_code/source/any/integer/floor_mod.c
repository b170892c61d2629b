// needs:
/* Of index arithmetic: never negative; y >= 0, 0 where y is 0. */
TK_FN TK_T tk_floor_mod_TYPE(TK_T x, TK_T y) {
  const TK_T divisor = y == 0 ? 1 : y;
  const TK_T r = x % divisor;
  return r < 0 ? r + divisor : r;
}
