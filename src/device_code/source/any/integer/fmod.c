// needs:
/* With the sign of x; 0 where y is 0. */
TK_FN TK_T tk_fmod_TYPE(TK_T x, TK_T y) {
  const TK_T divisor = y == 0 || y == -1 ? 1 : y;
  return x % divisor;
}
