// needs: abs_TYPE
TK_FN TK_T tk_gcd_TYPE(TK_T x, TK_T y) {
  TK_U a = (TK_U)tk_abs_TYPE(x), b = (TK_U)tk_abs_TYPE(y);
  while (b != 0) {
    const TK_U r = a % b;
    a = b;
    b = r;
  }
  return (TK_T)a;
}
