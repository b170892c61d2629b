// needs: basics_TYPE
TK_FN TK_T tk_logical_right_shift_TYPE(TK_T x, TK_T count) {
  const TK_E width = (TK_E)(sizeof(TK_E) * 8);
  return (TK_T)((TK_U)x >> (TK_U)(count & (width - 1))) & ((count >= 0) & (count < width));
}
