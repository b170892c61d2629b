// needs: exp_parts_TYPE abs_TYPE
TK_FN TK_T tk_cosh_TYPE(TK_T x) {
  TK_T a, b;
  const TK_T magnitude = tk_abs_TYPE(x);
  const TK_T p = tk_exp_parts_TYPE(tk_select_TYPE(magnitude > 720.0, tk_splat_TYPE(720.0), magnitude), tk_splat_TYPE(0.0), &a, &b);
  const TK_T half = p * (0.5 * a) * b;
  return half + 0.25 / half;
}
