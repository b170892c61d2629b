// needs: basics_f32 rsqrt_approx_f32
/* One step of Newton: 2^-22.9 by itself may be 2.14 ulp. Where the step is NaN (0, infinity) rsqrt.approx is right. */
TK_FN tk_f32 tk_rsqrt_f32(tk_f32 x) {
  const tk_i32 is_tiny = x < 1.17549435e-38f;
  const tk_f32 normal = is_tiny ? x * 16777216.0f : x;
  tk_f32 root = tk_rsqrt_approx_f32(normal);
  const tk_f32 error = tk_fma_f32(-(normal * root), root, 1.0f);
  root = error == error ? tk_fma_f32(0.5f * root, error, root) : root;
  return is_tiny ? root * 4096.0f : root;
}
