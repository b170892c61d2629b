// needs:
/* 2^x: at most 2 ulp from the correctly rounded result (PTX ISA, section 9.7.3.21), so 2.5 ulp from the exact one; 1 at 0.
   Subnormal arguments count as 0, subnormal results become 0. */
TK_FN tk_f32 tk_ex2_approx_f32(tk_f32 x) {
  tk_f32 power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
  return power;
}
