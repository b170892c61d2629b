// needs:
TK_FN tk_f32 tk_minimum_f32(tk_f32 x, tk_f32 y) {
  tk_f32 smaller;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(smaller) : "f"(x), "f"(y));
  return smaller;
}
