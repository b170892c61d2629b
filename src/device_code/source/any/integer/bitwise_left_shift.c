// needs:
/* A count outside [0, width) shifts everything out; so in all shifts. */
TK_FN TK_T tk_bitwise_left_shift_TYPE(TK_T x, TK_T count) {
  const TK_T width = (TK_T)(sizeof(TK_T) * 8);
  return count < 0 || count >= width ? 0 : (TK_T)((TK_U)x << (count & (width - 1)));
}
