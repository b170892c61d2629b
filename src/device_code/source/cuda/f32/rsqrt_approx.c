// needs:
/* 1 / sqrt(x): a relative error of at most 2^-22.9 (PTX ISA, section 9.7.3.16). Subnormal arguments count as 0. */
TK_FN tk_f32 tk_rsqrt_approx_f32(tk_f32 x) {
  tk_f32 root;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(root) : "f"(x));
  return root;
}
