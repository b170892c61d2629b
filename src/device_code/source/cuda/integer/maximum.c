// needs: greater_TYPE
/* ptxas makes one VIMNMX3 of two max.s32 (or min.s32), and then drops the minus of its second operand: of max(max(x, -y), z). It does
   not of choices by a comparison that it is given as it is. */
TK_FN TK_T tk_maximum_TYPE(TK_T x, TK_T y) {
  const TK_T mask = tk_greater_TYPE(x, y);
  return sizeof(TK_T) == 8 ? (x > y ? x : y) : (x & mask) | (y & ~mask);
}
