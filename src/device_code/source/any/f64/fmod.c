// needs: basics_f64 abs_f64 copysign_f64
/* Exact, with the sign of x: long division of the mantissas, 11 bits at a time. */
TK_SLOW tk_f64 tk_fmod_f64(tk_f64 x, tk_f64 y) {
  const tk_f64 top = tk_abs_f64(x), divisor = tk_abs_f64(y);
  if (!(top < tk_infinity_f64()) || !(divisor > 0)) return tk_nan_f64();
  if (y != y) return y;
  if (top < divisor) return x;
  const tk_i64 hidden = 1LL << 52, a = tk_bits_f64(top), b = tk_bits_f64(divisor);
  const tk_i64 a_exponent = a < hidden ? 1 : a >> 52, b_exponent = b < hidden ? 1 : b >> 52;
  const tk_u64 m = (tk_u64)(a < hidden ? a : (a & (hidden - 1)) | hidden);
  const tk_u64 d = (tk_u64)(b < hidden ? b : (b & (hidden - 1)) | hidden);
  tk_u64 r = m % d;
  for (tk_i64 left = a_exponent - b_exponent; left > 0 && r != 0; left -= 11) r = (r << (left < 11 ? left : 11)) % d;
  /* r < 2^53 in units of 2^(b_exponent - 1075). */
  const tk_f64 unit = tk_from_bits_f64(b_exponent > 52 ? (b_exponent - 52) << 52 : 1LL << (b_exponent - 1));
  return tk_copysign_f64((tk_f64)r * unit, x);
}
