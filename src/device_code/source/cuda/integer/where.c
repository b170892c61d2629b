// needs:
/* A choice by x > y between x and y is no maximum: see there. */
TK_FN TK_T tk_where_TYPE(tk_bool condition, TK_T x, TK_T y) {
  const tk_i32 given = condition;
  tk_i32 taken;
  asm("mov.b32 %0, %1;" : "=r"(taken) : "r"(given));
  return (sizeof(TK_T) == 8 ? given : taken) != 0 ? x : y;
}
