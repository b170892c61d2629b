// needs: expm1_TYPE abs_TYPE copysign_TYPE
TK_FN TK_T tk_tanh_TYPE(TK_T x) {
  const TK_T magnitude = tk_abs_TYPE(x);
  const TK_T inside = tk_select_TYPE(magnitude > 30.0, tk_splat_TYPE(30.0), magnitude);
  const TK_T e = tk_expm1_TYPE(2.0 * inside);
  return tk_copysign_TYPE(e / (e + 2.0), x);
}
