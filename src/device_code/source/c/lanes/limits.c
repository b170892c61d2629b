// needs: basics_TYPE
/* x, but not above or below the limit; a NaN stays: x86's minimum and maximum give the second operand then. */
TK_FN TK_T tk_at_most_TYPE(TK_T x, tk_f32 limit) {
#if defined(__AVX512F__) && !defined(__clang__)
  if (LANES == 16) {
    typedef tk_f32 v16 __attribute__((vector_size(64)));
    union { TK_T lanes; v16 v; } a = {tk_splat_TYPE(limit)}, b = {x};
    b.v = __builtin_ia32_minps512_mask(a.v, b.v, b.v, (unsigned short)-1, 4);
    return b.lanes;
  }
#endif
#if defined(__AVX__)
  if (LANES == 8) {
    typedef tk_f32 v8 __attribute__((vector_size(32)));
    union { TK_T lanes; v8 v; } a = {tk_splat_TYPE(limit)}, b = {x};
    b.v = __builtin_ia32_minps256(a.v, b.v);
    return b.lanes;
  }
#endif
  return tk_select_TYPE(x > limit, tk_splat_TYPE(limit), x);
}
TK_FN TK_T tk_at_least_TYPE(TK_T x, tk_f32 limit) {
#if defined(__AVX512F__) && !defined(__clang__)
  if (LANES == 16) {
    typedef tk_f32 v16 __attribute__((vector_size(64)));
    union { TK_T lanes; v16 v; } a = {tk_splat_TYPE(limit)}, b = {x};
    b.v = __builtin_ia32_maxps512_mask(a.v, b.v, b.v, (unsigned short)-1, 4);
    return b.lanes;
  }
#endif
#if defined(__AVX__)
  if (LANES == 8) {
    typedef tk_f32 v8 __attribute__((vector_size(32)));
    union { TK_T lanes; v8 v; } a = {tk_splat_TYPE(limit)}, b = {x};
    b.v = __builtin_ia32_maxps256(a.v, b.v);
    return b.lanes;
  }
#endif
  return tk_select_TYPE(x < limit, tk_splat_TYPE(limit), x);
}
