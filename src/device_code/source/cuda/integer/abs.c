// needs:
/* The lesser of x and -x without signs. Of abs.s32 ptxas believes that it is never negative, which the most negative integer refutes. */
TK_FN TK_T tk_abs_TYPE(TK_T x) {
  const TK_U same = (TK_U)x, negated = 0 - (TK_U)x;
  return (TK_T)(same < negated ? same : negated);
}
