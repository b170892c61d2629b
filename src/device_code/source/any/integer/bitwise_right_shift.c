// needs:
TK_FN TK_T tk_bitwise_right_shift_TYPE(TK_T x, TK_T count) {
  const TK_T width = (TK_T)(sizeof(TK_T) * 8);
  return x >> (count < 0 || count >= width ? width - 1 : count);
}
