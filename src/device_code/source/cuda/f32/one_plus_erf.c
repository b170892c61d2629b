// needs: basics_f32 abs_f32 ex2_approx_f32
/* 1 + erf(x). With 2^P(|x|) = 2 erfc(|x|): half of that left of 0, else 2 less that half. P begins with 1, so that the power is 2 at 0 and ex2.approx gets
   arguments from 0 to 1, which it is best at, where its errors count; P falls without end, so no argument is too large. */
TK_FN tk_f32 tk_one_plus_erf_f32(tk_f32 x) {
  const tk_f32 magnitude = tk_abs_f32(x);
  tk_f32 p = -4.52989007e-5f;
  p = tk_horner_f32(p, magnitude, 0.00044510985f);
  p = tk_horner_f32(p, magnitude, -0.00148843427f);
  p = tk_horner_f32(p, magnitude, -0.000775869761f);
  p = tk_horner_f32(p, magnitude, 0.0282544531f);
  p = tk_horner_f32(p, magnitude, -0.148481831f);
  p = tk_horner_f32(p, magnitude, -0.918416381f);
  p = tk_horner_f32(p, magnitude, -1.62790859f);
  const tk_f32 power = tk_ex2_approx_f32(tk_horner_f32(p, magnitude, 1.0f));
  return x < 0.0f ? 0.5f * power : tk_fma_f32(-0.5f, power, 2.0f);
}
