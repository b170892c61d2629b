// needs: log1p_parts_TYPE log_special_TYPE
TK_FN TK_T tk_log1p_TYPE(TK_T x) {
  const TK_T u = 1.0f + x;
  const TK_I above = (TK_I)((TK_U)tk_bits_TYPE(u) - 0x3f3504f3);
  const TK_I exponent = above & -0x800000;
  /* What rounding u lost, on the scale of f. */
  const TK_T lost = x - (u - 1.0f);
  const TK_T scale = tk_from_bits_TYPE(tk_choose_TYPE(exponent > 0x3f000000, exponent & 0, (TK_I)(0x3f800000 - (TK_U)exponent)));
  const TK_T f = tk_fma_TYPE(lost, scale, tk_from_bits_TYPE((TK_I)((TK_U)tk_bits_TYPE(u) - (TK_U)exponent)) - 1.0f);
  const TK_T value = tk_log1p_parts_TYPE(f, tk_convert_TYPE(above >> 23));
  return tk_select_TYPE(x == 0.0f, x, tk_log_special_TYPE(u, value));
}
