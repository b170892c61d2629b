// needs: exp_parts_TYPE
TK_FN TK_T tk_exp_TYPE(TK_T x) {
  TK_T a, b;
  x = tk_select_TYPE(x > 710.0, tk_splat_TYPE(710.0), x);
  x = tk_select_TYPE(x < -746.0, tk_splat_TYPE(-746.0), x);
  const TK_T p = tk_exp_parts_TYPE(x, tk_splat_TYPE(0.0), &a, &b);
  return p * a * b;
}
