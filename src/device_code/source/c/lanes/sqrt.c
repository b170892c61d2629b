// needs: basics_TYPE
/* clang has the function of vectors since 18. */
TK_FN TK_T tk_sqrt_TYPE(TK_T x) {
#if defined(__clang__) && defined(__has_builtin)
#if __has_builtin(__builtin_elementwise_sqrt)
  return __builtin_elementwise_sqrt(x);
#endif
#endif
#if defined(__AVX512F__) && !defined(__clang__)
  if (LANES == 16) {
    typedef tk_f32 v16 __attribute__((vector_size(64)));
    union { TK_T lanes; v16 v; } a = {x};
    a.v = __builtin_ia32_sqrtps512_mask(a.v, a.v, (unsigned short)-1, 4);
    return a.lanes;
  }
#endif
#if defined(__AVX__) && !defined(__clang__)
  if (LANES % 8 == 0) {
    typedef tk_f32 v8 __attribute__((vector_size(32)));
    union { TK_T lanes; v8 v[(LANES + 7) / 8]; } a = {x};
#pragma GCC unroll 8
    for (int i = 0; i < LANES / 8; ++i) a.v[i] = __builtin_ia32_sqrtps256(a.v[i]);
    return a.lanes;
  }
#endif
#pragma GCC unroll 64
  for (int i = 0; i < LANES; ++i) x[i] = __builtin_sqrtf(x[i]);
  return x;
}
