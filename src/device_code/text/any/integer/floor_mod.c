// needs:
/* Of index arithmetic: never negative; y > 0. */
TK_FN TK_T tk_floor_mod_TYPE(TK_T x, TK_T y) {
  const TK_T r = x % y;
  return r < 0 ? r + y : r;
}
