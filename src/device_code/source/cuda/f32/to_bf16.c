// needs:
TK_FN tk_bf16 tk_to_bf16_f32(tk_f32 x) {
  tk_bf16 nearest;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(nearest) : "f"(x));
  return nearest;
}
