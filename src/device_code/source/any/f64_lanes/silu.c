// needs: exp_parts_TYPE abs_TYPE
/* x sigmoid(x); x is multiplied in before the scaling, so that no bits are lost where z is subnormal. -inf gives NaN. */
TK_FN TK_T tk_silu_TYPE(TK_T x) {
  TK_T a, b;
  const TK_T magnitude = tk_abs_TYPE(x);
  const TK_T p = tk_exp_parts_TYPE(-tk_select_TYPE(magnitude > 800.0, tk_splat_TYPE(800.0), magnitude), tk_splat_TYPE(0.0), &a, &b);
  const TK_T z = p * a * b;
  const TK_T top = x * p * a * b;
  const TK_T left = tk_select_TYPE(magnitude > 800.0, x * 0.0, top / (1.0 + z));
  return tk_select_TYPE(x < 0, left, x / (1.0 + z));
}
