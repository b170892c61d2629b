// needs:
TK_FN tk_f32 tk_maximum_f32(tk_f32 x, tk_f32 y) {
  tk_f32 larger;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(larger) : "f"(x), "f"(y));
  return larger;
}
