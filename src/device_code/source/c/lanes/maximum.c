// needs: basics_TYPE
/* NaN if either is NaN; of two zeros the positive one is the larger. */
TK_FN TK_T tk_maximum_TYPE(TK_T x, TK_T y) {
#if defined(__AVX512DQ__) && !defined(__clang__)
  if (LANES == 16) {
    typedef tk_f32 v16 __attribute__((vector_size(64)));
    union { TK_T lanes; v16 v; } a = {x}, b = {y}, c;
    /* Orders zeros, but gives the number where there is one; there a NaN is put in. */
    c.v = __builtin_ia32_rangeps512_mask(a.v, b.v, 5, a.v, (unsigned short)-1, 4);
    c.v = __builtin_ia32_addps512_mask(a.v, b.v, c.v, __builtin_ia32_cmpps512_mask(a.v, b.v, 3, (unsigned short)-1, 4), 4);
    return c.lanes;
  }
#endif
#if defined(__AVX__)
  if (LANES == 8) {
    typedef tk_f32 v8 __attribute__((vector_size(32)));
    union { TK_T lanes; v8 v; } a = {x}, b = {y}, c, d;
    /* Of two zeros, and where one is NaN, the instruction gives its second operand: both orders have both, and else
       the same. */
    c.v = __builtin_ia32_maxps256(a.v, b.v);
    d.v = __builtin_ia32_maxps256(b.v, a.v);
    /* Where a NaN is, all bits are set. */
    typedef tk_i32 i8 __attribute__((vector_size(32)));
    c.v = (v8)(((i8)c.v & (i8)d.v) | (i8)__builtin_ia32_cmpps256(a.v, b.v, 3));
    return c.lanes;
  }
#endif
  TK_T larger = tk_select_TYPE(x > y, x, y);
  larger = tk_select_TYPE(x == y, tk_from_bits_TYPE(tk_bits_TYPE(x) & tk_bits_TYPE(y)), larger);
  return tk_select_TYPE(x != x, x, larger);
}
