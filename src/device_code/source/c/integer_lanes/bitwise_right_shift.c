// needs: basics_TYPE
TK_FN TK_T tk_bitwise_right_shift_TYPE(TK_T x, TK_T count) {
  const TK_E width = (TK_E)(sizeof(TK_E) * 8);
  return x >> tk_select_TYPE((count < 0) | (count >= width), tk_splat_TYPE(width - 1), count);
}
