// needs: exp_parts_TYPE
TK_FN TK_T tk_exp_TYPE(TK_T x) {
  TK_T a, b;
  x = tk_select_TYPE(x > 89.0f, tk_splat_TYPE(89.0f), x);
  x = tk_select_TYPE(x < -104.0f, tk_splat_TYPE(-104.0f), x);
  const TK_T t = tk_exp_parts_TYPE(x, &a, &b);
  return (1.0f + t) * a * b;
}
