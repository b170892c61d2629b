// needs: basics_f32 ex2_approx_f32 minimum_f32 rcp_approx_f32
/* 1 + tanh(x) = 2 / (1 + t) with t = e^-2x. What rounding 1 + t and its reciprocal lost is put right by the remainder; at t = 2^127 the reciprocal is 0 already. */
TK_FN tk_f32 tk_one_plus_tanh_f32(tk_f32 x) {
  const tk_f32 t = tk_ex2_approx_f32(tk_minimum_f32(x * -2.88539004f, 127.0f));
  const tk_f32 reciprocal = tk_rcp_approx_f32(1.0f + t);
  const tk_f32 near = reciprocal + reciprocal;
  const tk_f32 remainder = tk_fma_f32(-near, t, 2.0f - near);
  return tk_fma_f32(remainder, reciprocal, near);
}
