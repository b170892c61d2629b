// needs:
/* log2(x), with an absolute error of 2^-22 between 1/2 and 2 (PTX ISA, section 9.7.3.20): too much for a result near 0,
   so only what it says of 0, infinity, NaN and negative numbers is used. Subnormal arguments count as 0. */
TK_FN tk_f32 tk_lg2_approx_f32(tk_f32 x) {
  tk_f32 logarithm;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(logarithm) : "f"(x));
  return logarithm;
}
