// needs: exp_parts_TYPE abs_TYPE
/* With z = e^-|x|: 1 / (1 + z) or z / (1 + z). */
TK_FN TK_T tk_sigmoid_TYPE(TK_T x) {
  TK_T a, b;
  const TK_T magnitude = tk_abs_TYPE(x);
  const TK_T t = tk_exp_parts_TYPE(-tk_select_TYPE(magnitude > 104.0f, tk_splat_TYPE(104.0f), magnitude), &a, &b);
  const TK_T z = (1.0f + t) * a * b;
  const TK_T below = 1.0f + z;
  const TK_T quotient = tk_select_TYPE(x < 0.0f, z, tk_splat_TYPE(1.0f)) / below;
  /* What rounding 1 + z lost; 1 - z/2 is near enough to 1 / (1 + z). */
  const TK_T lost = (z - (below - 1.0f)) * (1.0f - 0.5f * z);
  return tk_fma_TYPE(-quotient, lost, quotient);
}
