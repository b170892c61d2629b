// needs: exp_reduced_TYPE exp_scale_TYPE
/* e^x = (1 + t) times tk_scale's power with parts a and b, for x in [-127, 89]. */
TK_FN TK_T tk_exp_parts_TYPE(TK_T x, TK_T *a, TK_T *b) {
  TK_T n;
  TK_I k;
  const TK_T t = tk_exp_reduced_TYPE(x, 254.0f, &n, &k);
  tk_scale_parts_TYPE(n, k, a, b);
  return t;
}
/* The same for x in [-127, 0]: with a constant b. */
TK_FN TK_T tk_exp_parts_below_TYPE(TK_T x, TK_T *a, TK_T *b) {
  TK_T n;
  TK_I k;
  const TK_T t = tk_exp_reduced_TYPE(x, 190.0f, &n, &k);
  tk_scale_parts_below_TYPE(n, k, a, b);
  return t;
}
