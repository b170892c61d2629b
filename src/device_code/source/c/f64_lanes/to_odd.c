// needs: basics_f32xLANES basics_TYPE
/* To f32, to odd: what is cut off is remembered in the last bit, so that rounding again to 16 bits rounds once. */
TK_FN tk_f32xLANES tk_to_odd_TYPE(TK_T x) {
  const tk_f32xLANES nearest = __builtin_convertvector(x, tk_f32xLANES);
  const TK_T back = __builtin_convertvector(nearest, TK_T);
  const tk_i32xLANES bits = (tk_i32xLANES)nearest;
  const TK_I is_too_large = tk_from_bits_TYPE(tk_bits_TYPE(back) & 0x7fffffffffffffffLL) > tk_from_bits_TYPE(tk_bits_TYPE(x) & 0x7fffffffffffffffLL);
  const tk_i32xLANES is_kept = __builtin_convertvector((back == x) | (x != x), tk_i32xLANES) | ((bits & 1) != 0);
  const tk_i32xLANES moved = bits + 1 + 2 * __builtin_convertvector(is_too_large, tk_i32xLANES);
  return (tk_f32xLANES)((bits & is_kept) | (moved & ~is_kept));
}
