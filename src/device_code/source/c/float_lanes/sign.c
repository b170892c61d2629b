// needs: basics_TYPE
TK_FN TK_T tk_sign_TYPE(TK_T x) {
  const TK_T one = tk_select_TYPE(x > 0, tk_splat_TYPE(1), tk_select_TYPE(x < 0, tk_splat_TYPE(-1), tk_splat_TYPE(0)));
  return tk_select_TYPE(x != x, x, one);
}
