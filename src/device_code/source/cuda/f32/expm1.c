// needs: basics_f32 abs_f32 maximum_f32 minimum_f32
/* 2 (t p + (t - 1/2)) with t = 2^(n - 1) and p = e^r - 1. */
TK_FN tk_f32 tk_expm1_f32(tk_f32 x) {
  const tk_f32 inside = tk_minimum_f32(tk_maximum_f32(x, -60.0f), 89.0f);
  const tk_f32 shifted = tk_fma_f32(inside, 1.44269502f, 12583038.0f);
  const tk_f32 n = shifted - 12583038.0f;
  tk_f32 r = tk_fma_f32(n, -0.693147182f, inside);
  r = tk_fma_f32(n, 1.90465421e-9f, r);
  tk_f32 q = 0.00138639624f;
  q = tk_horner_f32(q, r, 0.00836654752f);
  q = tk_horner_f32(q, r, 0.0416675098f);
  q = tk_horner_f32(q, r, 0.166665435f);
  q = tk_horner_f32(q, r, 0.49999997f);
  const tk_f32 p = tk_fma_f32(r * r, q, r);
  const tk_f32 t = tk_from_bits_f32(tk_bits_f32(shifted) << 23);
  const tk_f32 half = tk_fma_f32(t, p, t - 0.5f);
  /* Keeps subnormals and the sign of zero. */
  return tk_abs_f32(x) < 5.9604645e-8f ? x : half + half;
}
