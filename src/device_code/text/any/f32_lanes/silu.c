// needs: exp_parts_TYPE abs_TYPE
/* x sigmoid(x); x is multiplied in before the scaling, so that no bits are lost where z is subnormal. -inf gives NaN. */
TK_FN TK_T tk_silu_TYPE(TK_T x) {
  TK_T a, b;
  const TK_T magnitude = tk_abs_TYPE(x);
  const TK_T p = tk_exp_parts_TYPE(-tk_select_TYPE(magnitude > 127.0f, tk_splat_TYPE(127.0f), magnitude), &a, &b);
  const TK_T z = p * a * b;
  const TK_T top = x * p * a * b;
  /* Beyond 127 the result is below half the smallest number. */
  const TK_T left = tk_select_TYPE(magnitude > 127.0f, x * 0.0f, top / (1.0f + z));
  return tk_select_TYPE(x < 0.0f, left, x / (1.0f + z));
}
