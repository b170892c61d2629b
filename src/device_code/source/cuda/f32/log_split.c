// needs: basics_f32 lg2_approx_f32
/* x = 2^n (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)), for 0 < x < inf; returns f. *special is infinite or NaN, and then the
   logarithm of x, for all other x, else finite. */
TK_FN tk_f32 tk_log_split_f32(tk_f32 x, tk_f32 *n, tk_f32 *special) {
  const tk_i32 is_tiny = x < 1.17549435e-38f;
  const tk_f32 normal = is_tiny ? x * 8388608.0f : x;
  const tk_i32 bits = tk_bits_f32(normal);
  const tk_i32 exponent = (tk_i32)((tk_u32)bits - 0x3f3504f3) & -0x800000;
  *special = tk_lg2_approx_f32(normal);
  *n = tk_fma_f32((tk_f32)exponent, 1.1920929e-7f, is_tiny ? -23.0f : 0.0f);
  return tk_from_bits_f32((tk_i32)((tk_u32)bits - (tk_u32)exponent)) - 1.0f;
}
