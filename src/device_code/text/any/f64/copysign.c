// needs: basics_f64
/* The magnitude of x with the sign of y. */
TK_FN tk_f64 tk_copysign_f64(tk_f64 x, tk_f64 y) {
  return tk_from_bits_f64((tk_bits_f64(x) & 0x7fffffffffffffffLL) | (tk_bits_f64(y) & (-0x7fffffffffffffffLL - 1)));
}
