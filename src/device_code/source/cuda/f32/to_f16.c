// needs:
TK_FN tk_f16 tk_to_f16_f32(tk_f32 x) {
  tk_f16 nearest;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(nearest) : "f"(x));
  return nearest;
}
