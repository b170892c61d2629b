// needs: basics_f64
/* x = 2^n (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)), for 0 < x < inf; returns f. */
TK_FN tk_f64 tk_log_split_f64(tk_f64 x, tk_f64 *n) {
  const tk_i32 is_tiny = x < 2.2250738585072014e-308;
  const tk_i64 bits = tk_bits_f64(is_tiny ? x * 18014398509481984.0 : x);
  const tk_u64 above = (tk_u64)bits - 0x3fe6a09e667f3bcdULL + 0x3ff0000000000000ULL;
  /* The exponent becomes a number in the mantissa of 2^52. */
  const tk_f64 exponent = tk_from_bits_f64((tk_i64)(above >> 52 | 0x4330000000000000ULL));
  *n = exponent - (is_tiny ? 4503599627370496.0 + 1077.0 : 4503599627370496.0 + 1023.0);
  return tk_from_bits_f64((tk_i64)((tk_u64)bits - ((above & 0xfff0000000000000ULL) - 0x3ff0000000000000ULL))) - 1.0;
}
