// needs:
/* The bits become the upper half: said like this, taking one of two elements out of a register and widening it is one instruction. */
TK_FN tk_f32 tk_from_bf16_f32(tk_bf16 x) {
  tk_f32 wide;
  asm("mov.b32 %0, {%1, %2};" : "=f"(wide) : "h"((tk_u16)0), "h"(x));
  return wide;
}
