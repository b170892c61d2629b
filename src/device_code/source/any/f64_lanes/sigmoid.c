// needs: exp_parts_TYPE abs_TYPE
/* With z = e^-|x|: 1 / (1 + z) or z / (1 + z). */
TK_FN TK_T tk_sigmoid_TYPE(TK_T x) {
  TK_T a, b;
  const TK_T magnitude = tk_abs_TYPE(x);
  const TK_T p = tk_exp_parts_TYPE(-tk_select_TYPE(magnitude > 746.0, tk_splat_TYPE(746.0), magnitude), tk_splat_TYPE(0.0), &a, &b);
  const TK_T z = p * a * b;
  return tk_select_TYPE(x < 0, z, tk_splat_TYPE(1.0)) / (1.0 + z);
}
