// needs: basics_TYPE
/* Exponent and mantissa are shifted into place; scaling by 2^112 makes up for the bias, and normalises subnormals. */
TK_FN TK_T tk_from_f16_bits_TYPE(TK_H x) {
  const TK_I bits = (TK_I)tk_widen_TYPE(x);
  const TK_I magnitude = bits & 0x7fff;
  const TK_I number = tk_bits_TYPE(tk_from_bits_TYPE(magnitude << 13) * 5.19229686e+33f);
  const TK_I special = (magnitude << 13) | 0x7f800000;
  const TK_I sign = (TK_I)(((TK_U)bits & 0x8000) << 16);
  return tk_from_bits_TYPE(tk_choose_TYPE(magnitude >= 0x7c00, special, number) | sign);
}
