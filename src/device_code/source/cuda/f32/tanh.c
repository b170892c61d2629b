// needs: basics_f32 abs_f32 copysign_f32 ex2_approx_f32 rcp_approx_f32
/* x (1 + x^2 Q(x^2)), from 0.8 on 1 - 2 / (1 + e^2|x|); there the second term is at most 0.34, and with it the errors of ex2 and rcp. */
TK_FN tk_f32 tk_tanh_f32(tk_f32 x) {
  const tk_f32 square = x * x;
  tk_f32 q = -0.00441449368f;
  q = tk_horner_f32(q, square, 0.0191960838f);
  q = tk_horner_f32(q, square, -0.0531789362f);
  q = tk_horner_f32(q, square, 0.133228138f);
  q = tk_horner_f32(q, square, -0.333328694f);
  const tk_f32 small = x * tk_fma_f32(q, square, 1.0f);
  const tk_f32 power = tk_ex2_approx_f32(tk_abs_f32(x) * 2.88539004f);
  const tk_f32 large = tk_copysign_f32(tk_fma_f32(-2.0f, tk_rcp_approx_f32(1.0f + power), 1.0f), x);
  return tk_abs_f32(x) < 0.8f ? small : large;
}
