// needs: exp_parts_TYPE limits_TYPE
TK_FN TK_T tk_exp_TYPE(TK_T x) {
  TK_T a, b;
  x = tk_at_least_TYPE(tk_at_most_TYPE(x, 89.0f), -104.0f);
  const TK_T t = tk_exp_parts_TYPE(x, &a, &b);
  return tk_scale_TYPE(1.0f + t, a, b);
}
