// needs: expm1_parts_TYPE abs_TYPE
TK_FN TK_T tk_expm1_TYPE(TK_T x) {
  TK_T t;
  TK_T inside = tk_select_TYPE(x > 89.0f, tk_splat_TYPE(89.0f), x);
  inside = tk_select_TYPE(x < -60.0f, tk_splat_TYPE(-60.0f), inside);
  const TK_T p = tk_expm1_parts_TYPE(inside, &t);
  const TK_T result = 2.0f * tk_fma_TYPE(t, p, t - 0.5f);
  return tk_select_TYPE(tk_abs_TYPE(x) < 5.9604645e-8f, x, result);
}
