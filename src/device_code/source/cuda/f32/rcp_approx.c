// needs:
/* 1 / x: at most 1 ulp from the correctly rounded result (PTX ISA, section 9.7.3.13). Subnormal arguments
   count as 0, subnormal results become 0. */
TK_FN tk_f32 tk_rcp_approx_f32(tk_f32 x) {
  tk_f32 reciprocal;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(reciprocal) : "f"(x));
  return reciprocal;
}
