// needs:
/* By squaring, wrapping; a negative exponent gives 1 / x truncated, and 0 where x is 0. */
TK_FN TK_T tk_pow_TYPE(TK_T x, TK_T y) {
  if (y < 0) return x == 1 ? 1 : x == -1 ? (y % 2 == 0 ? 1 : -1) : 0;
  TK_U result = 1, base = (TK_U)x;
  for (TK_U rest = (TK_U)y; rest != 0; rest >>= 1, base *= base) result = (rest & 1) != 0 ? result * base : result;
  return (TK_T)result;
}
