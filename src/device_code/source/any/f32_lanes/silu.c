// needs: exp_parts_TYPE limits_TYPE
/* x sigmoid(x); x is multiplied in before the scaling, so that no bits are lost where z is subnormal. -inf gives NaN. */
TK_FN TK_T tk_silu_TYPE(TK_T x) {
  TK_T a, b;
  const TK_T falling = tk_from_bits_TYPE(tk_bits_TYPE(x) | (-0x7fffffff - 1));
  const TK_T t = tk_exp_parts_below_TYPE(tk_at_least_TYPE(falling, -127.0f), &a, &b);
  const TK_T z = tk_scale_TYPE(1.0f + t, a, b);
  const TK_T below = 1.0f + z;
  const TK_T top = tk_scale_TYPE(tk_fma_TYPE(x, t, x), a, b);
  /* Beyond -127 the result is below half the smallest number. */
  const TK_T left = tk_select_TYPE(falling < -127.0f, x * 0.0f, top);
  return tk_select_TYPE(x < 0.0f, left, x) / below;
}
