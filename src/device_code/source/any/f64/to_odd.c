// needs: basics_f32
/* To f32, to odd: what is cut off is remembered in the last bit, so that rounding again to 16 bits rounds once. */
TK_FN tk_f32 tk_to_odd_f64(tk_f64 x) {
  const tk_f32 nearest = (tk_f32)x;
  const tk_f64 back = nearest;
  const tk_i32 bits = tk_bits_f32(nearest);
  const tk_i32 is_too_large = (back < 0 ? -back : back) > (x < 0 ? -x : x);
  const tk_i32 is_kept = back == x || x != x || (bits & 1) != 0;
  return tk_from_bits_f32(is_kept ? bits : is_too_large ? bits - 1 : bits + 1);
}
