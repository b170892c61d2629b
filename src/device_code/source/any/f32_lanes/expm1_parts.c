// needs: exp_reduced_TYPE
/* e^x - 1 = (p * t + (t - 1/2)) * 2 with t half a power of two, for x in [-60, 89]. */
TK_FN TK_T tk_expm1_parts_TYPE(TK_T x, TK_T *t) {
  TK_T n;
  TK_I k;
  const TK_T p = tk_exp_reduced_TYPE(x, 126.0f, &n, &k);
  *t = tk_from_bits_TYPE((TK_I)((TK_U)k << 23));
  return p;
}
