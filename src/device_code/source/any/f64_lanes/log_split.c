// needs: basics_TYPE
/* x = 2^n (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)), for 0 < x < inf; returns f. */
TK_FN TK_T tk_log_split_TYPE(TK_T x, TK_T *n) {
  const TK_M is_tiny = x < 2.2250738585072014e-308;
  const TK_I bits = tk_bits_TYPE(tk_select_TYPE(is_tiny, x * 18014398509481984.0, x));
  const TK_U above = (TK_U)bits - 0x3fe6a09e667f3bcdULL + 0x3ff0000000000000ULL;
  /* The exponent becomes a number in the mantissa of 2^52. */
  const TK_T exponent = tk_from_bits_TYPE((TK_I)(above >> 52 | 0x4330000000000000ULL));
  *n = exponent - tk_select_TYPE(is_tiny, tk_splat_TYPE(4503599627370496.0 + 1077.0), tk_splat_TYPE(4503599627370496.0 + 1023.0));
  return tk_from_bits_TYPE((TK_I)((TK_U)bits - ((above & 0xfff0000000000000ULL) - 0x3ff0000000000000ULL))) - 1.0;
}
