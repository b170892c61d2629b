// needs: exp_parts_TYPE limits_TYPE
/* With z = e^-|x|: 1 / (1 + z) or z / (1 + z). */
TK_FN TK_T tk_sigmoid_TYPE(TK_T x) {
  TK_T a, b;
  const TK_T falling = tk_from_bits_TYPE(tk_bits_TYPE(x) | (-0x7fffffff - 1));
  const TK_T t = tk_exp_parts_below_TYPE(tk_at_least_TYPE(falling, -127.0f), &a, &b);
  const TK_T z = tk_scale_TYPE(1.0f + t, a, b);
  const TK_T below = 1.0f + z;
  return tk_select_TYPE(x < 0.0f, z, tk_splat_TYPE(1.0f)) / below;
}
