// needs: greater_TYPE
/* See maximum. */
TK_FN TK_T tk_minimum_TYPE(TK_T x, TK_T y) {
  const TK_T mask = tk_greater_TYPE(y, x);
  return sizeof(TK_T) == 8 ? (x < y ? x : y) : (x & mask) | (y & ~mask);
}
