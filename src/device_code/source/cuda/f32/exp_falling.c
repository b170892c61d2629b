// needs: basics_f32 abs_f32 maximum_f32
/* e^-|x| = p * power: p is 2^-32 e^r, so that the power of two need not be subnormal where the product is. From 110.3 on the power is 0. */
TK_FN tk_f32 tk_exp_falling_f32(tk_f32 x, tk_f32 *power) {
  const tk_f32 inside = tk_maximum_f32(-tk_abs_f32(x), -110.25f);
  const tk_f32 shifted = tk_fma_f32(inside, 1.44269502f, 12583071.0f);
  const tk_f32 n = shifted - 12583071.0f;
  tk_f32 r = tk_fma_f32(n, -0.693147182f, inside);
  r = tk_fma_f32(n, 1.90465421e-9f, r);
  tk_f32 p = 3.18336828e-13f;
  p = tk_horner_f32(p, r, 1.94858214e-12f);
  p = tk_horner_f32(p, r, 9.70228672e-12f);
  p = tk_horner_f32(p, r, 3.8804758e-11f);
  p = tk_horner_f32(p, r, 1.1641528e-10f);
  p = tk_horner_f32(p, r, 2.32830644e-10f);
  p = tk_horner_f32(p, r, 2.32830644e-10f);
  *power = tk_from_bits_f32(tk_bits_f32(shifted) << 23);
  return p;
}
