// needs: neg_TYPE
/* Truncates; x / 0 is 0. */
TK_FN TK_T tk_div_TYPE(TK_T x, TK_T y) {
  const TK_T divisor = y == 0 || y == -1 ? 1 : y;
  const TK_T quotient = x / divisor;
  return y == 0 ? 0 : y == -1 ? tk_neg_TYPE(x) : quotient;
}
