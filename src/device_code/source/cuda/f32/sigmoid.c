// needs: exp_falling_f32 rcp_approx_f32
/* With z = e^-|x|: 1 / (1 + z) or z / (1 + z). What rounding 1 + z, the reciprocal and the product lost is put right by the remainder. */
TK_FN tk_f32 tk_sigmoid_f32(tk_f32 x) {
  tk_f32 power;
  const tk_f32 z = tk_exp_falling_f32(x, &power) * power;
  const tk_f32 reciprocal = tk_rcp_approx_f32(1.0f + z);
  const tk_f32 top = x < 0.0f ? z : 1.0f;
  const tk_f32 near = top * reciprocal;
  const tk_f32 remainder = tk_fma_f32(-near, z, top - near);
  return tk_fma_f32(remainder, reciprocal, near);
}
