// needs: basics_TYPE
/* gcc makes a comparison and a choice of what is one instruction. */
TK_FN TK_T tk_maximum_TYPE(TK_T x, TK_T y) {
#if defined(__AVX512F__) && !defined(__clang__)
  if (sizeof(TK_T) == 64 && sizeof(TK_E) == 4) {
    typedef tk_i32 v16 __attribute__((vector_size(64)));
    union { TK_T lanes; v16 v; } a = {x}, b = {y};
    a.v = __builtin_ia32_pmaxsd512_mask(a.v, b.v, a.v, (unsigned short)-1);
    return a.lanes;
  }
  if (sizeof(TK_T) == 64 && sizeof(TK_E) == 8) {
    typedef tk_i64 v8 __attribute__((vector_size(64)));
    union { TK_T lanes; v8 v; } a = {x}, b = {y};
    a.v = __builtin_ia32_pmaxsq512_mask(a.v, b.v, a.v, (unsigned char)-1);
    return a.lanes;
  }
#endif
  return tk_select_TYPE(x > y, x, y);
}
