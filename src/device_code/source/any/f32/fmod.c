// needs: basics_f32 abs_f32 copysign_f32
/* Exact, with the sign of x: long division of the mantissas, 40 bits at a time. */
TK_SLOW tk_f32 tk_fmod_f32(tk_f32 x, tk_f32 y) {
  const tk_f32 top = tk_abs_f32(x), divisor = tk_abs_f32(y);
  if (!(top < tk_infinity_f32()) || !(divisor > 0)) return tk_nan_f32();
  if (y != y) return y;
  if (top < divisor) return x;
  const tk_i32 a = tk_bits_f32(top), b = tk_bits_f32(divisor);
  const tk_i32 a_exponent = a < 0x800000 ? 1 : a >> 23, b_exponent = b < 0x800000 ? 1 : b >> 23;
  const tk_u64 m = (tk_u64)(a < 0x800000 ? a : (a & 0x7fffff) | 0x800000);
  const tk_u64 d = (tk_u64)(b < 0x800000 ? b : (b & 0x7fffff) | 0x800000);
  tk_u64 r = m % d;
  for (tk_i32 left = a_exponent - b_exponent; left > 0 && r != 0; left -= 40) r = (r << (left < 40 ? left : 40)) % d;
  /* r < 2^24 in units of 2^(b_exponent - 150). */
  const tk_f32 unit = tk_from_bits_f32(b_exponent > 23 ? (b_exponent - 23) << 23 : 1 << (b_exponent - 1));
  return tk_copysign_f32((tk_f32)r * unit, x);
}
