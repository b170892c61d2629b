// needs: exp_falling_f32 rcp_approx_f32
/* x sigmoid(x); where x < 0, x is scaled instead of z, so that no bits are lost where z is subnormal. -inf gives NaN. */
TK_FN tk_f32 tk_silu_f32(tk_f32 x) {
  tk_f32 power;
  const tk_f32 p = tk_exp_falling_f32(x, &power);
  const tk_f32 z = p * power;
  const tk_f32 reciprocal = tk_rcp_approx_f32(1.0f + z);
  const tk_f32 top = x < 0.0f ? p : 1.0f;
  const tk_f32 near = top * reciprocal;
  const tk_f32 remainder = tk_fma_f32(-near, z, top - near);
  return x * (x < 0.0f ? power : 1.0f) * tk_fma_f32(remainder, reciprocal, near);
}
