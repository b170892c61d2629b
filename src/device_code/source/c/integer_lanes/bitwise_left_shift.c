// needs: basics_TYPE
/* A count outside [0, width) shifts everything out; so in all shifts. */
TK_FN TK_T tk_bitwise_left_shift_TYPE(TK_T x, TK_T count) {
  const TK_E width = (TK_E)(sizeof(TK_E) * 8);
  return (TK_T)((TK_U)x << (TK_U)(count & (width - 1))) & ((count >= 0) & (count < width));
}
