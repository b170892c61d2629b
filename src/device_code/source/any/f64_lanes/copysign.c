// needs: basics_TYPE
/* The magnitude of x with the sign of y. */
TK_FN TK_T tk_copysign_TYPE(TK_T x, TK_T y) {
  return tk_from_bits_TYPE((tk_bits_TYPE(x) & 0x7fffffffffffffffLL) | (tk_bits_TYPE(y) & (-0x7fffffffffffffffLL - 1)));
}
