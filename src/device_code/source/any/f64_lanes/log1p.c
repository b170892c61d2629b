// needs: basics_TYPE abs_TYPE log_split_TYPE log1p_parts_TYPE log_special_TYPE
TK_FN TK_T tk_log1p_TYPE(TK_T x) {
  TK_T n;
  const TK_T u = 1.0 + x;
  const TK_T f = tk_log_split_TYPE(u, &n);
  /* What rounding u lost, on the scale of f. */
  const TK_T lost = tk_select_TYPE(tk_abs_TYPE(x) < 1.0, x - (u - 1.0), 1.0 - (u - x));
  /* 2^-n: the exponent is a number in the mantissa of 2^52. */
  const TK_T power = tk_from_bits_TYPE((TK_I)((TK_U)tk_bits_TYPE((4503599627370496.0 + 1023.0) - n) << 52));
  const TK_T scale = tk_select_TYPE(n > 1022.0, tk_splat_TYPE(0.0), power);
  const TK_T value = tk_log1p_parts_TYPE(tk_fma_TYPE(lost, scale, f), n);
  return tk_select_TYPE(x == 0, x, tk_log_special_TYPE(u, value));
}
