// needs: basics_f32 maximum_f32 minimum_f32
/* As exp: 2 * 2^r times 2^(n - 1). */
TK_FN tk_f32 tk_exp2_f32(tk_f32 x) {
  x = tk_minimum_f32(tk_maximum_f32(x, -151.0f), 129.0f);
  const tk_i32 is_low = x < -110.0f;
  const tk_f32 magic = is_low ? 12583102.0f : 12583038.0f;
  const tk_f32 shifted = x + magic;
  const tk_f32 r = x - (shifted - magic);
  tk_f32 p = 0.00264478801f;
  p = tk_horner_f32(p, r, 0.0193435699f);
  p = tk_horner_f32(p, r, 0.11101795f);
  p = tk_horner_f32(p, r, 0.480444729f);
  p = tk_horner_f32(p, r, 1.38629365f);
  p = tk_horner_f32(p, r, 2.0f);
  const tk_f32 result = p * tk_from_bits_f32(tk_bits_f32(shifted) << 23);
  return is_low ? result * 5.42101086e-20f : result;
}
