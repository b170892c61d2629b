// needs:
/* All bits where x > y, none elsewhere, in a way that no compiler makes a maximum of; of 32 bits. */
TK_FN TK_T tk_greater_TYPE(TK_T x, TK_T y) {
  const tk_i32 left = (tk_i32)x, right = (tk_i32)y;
  tk_i32 mask;
  asm("set.gt.u32.s32 %0, %1, %2;" : "=r"(mask) : "r"(left), "r"(right));
  return mask;
}
