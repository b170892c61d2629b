// needs: log1p_parts_f32 lg2_approx_f32 abs_f32
TK_FN tk_f32 tk_log1p_f32(tk_f32 x) {
  const tk_f32 u = 1.0f + x;
  const tk_i32 exponent = (tk_i32)((tk_u32)tk_bits_f32(u) - 0x3f3504f3) & -0x800000;
  /* What rounding u lost, on the scale of f; nothing where the scale would be too small for a number. */
  const tk_f32 lost = x - (u - 1.0f);
  const tk_f32 scale = tk_from_bits_f32(0x3f800000 - (exponent < 0x3f000000 ? exponent : 0x3f000000));
  const tk_f32 f = tk_fma_f32(lost, scale, tk_from_bits_f32((tk_i32)((tk_u32)tk_bits_f32(u) - (tk_u32)exponent)) - 1.0f);
  const tk_f32 value = tk_log1p_parts_f32(f, (tk_f32)exponent * 1.1920929e-7f);
  /* Infinite or NaN where the logarithm is. */
  const tk_f32 special = tk_lg2_approx_f32(u);
  const tk_f32 result = tk_abs_f32(special) < tk_infinity_f32() ? value : special;
  return x == 0.0f ? x : result;
}
