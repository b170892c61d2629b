// needs:
TK_FN tk_f32 tk_from_f16_f32(tk_f16 x) {
  tk_f32 wide;
  asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(x));
  return wide;
}
