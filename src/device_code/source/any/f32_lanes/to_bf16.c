// needs: basics_TYPE
/* Nearest even; a NaN stays a quiet NaN. */
TK_FN TK_H tk_to_bf16_TYPE(TK_T x) {
  const TK_U bits = (TK_U)tk_bits_TYPE(x);
  const TK_U number = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  const TK_U nan = (bits >> 16) | 0x40;
  return tk_narrow_TYPE((TK_U)tk_choose_TYPE(x != x, (TK_I)nan, (TK_I)number));
}
