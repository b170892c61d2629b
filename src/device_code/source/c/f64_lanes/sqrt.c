// needs: basics_TYPE
/* clang has the function of vectors since 18. */
TK_FN TK_T tk_sqrt_TYPE(TK_T x) {
#if defined(__clang__) && defined(__has_builtin)
#if __has_builtin(__builtin_elementwise_sqrt)
  return __builtin_elementwise_sqrt(x);
#endif
#endif
#if defined(__AVX512F__) && !defined(__clang__)
  if (LANES == 8) {
    typedef tk_f64 v8 __attribute__((vector_size(64)));
    union { TK_T lanes; v8 v; } a = {x};
    a.v = __builtin_ia32_sqrtpd512_mask(a.v, a.v, (unsigned char)-1, 4);
    return a.lanes;
  }
#endif
#if defined(__AVX__) && !defined(__clang__)
  if (LANES % 4 == 0) {
    typedef tk_f64 v4 __attribute__((vector_size(32)));
    union { TK_T lanes; v4 v[(LANES + 3) / 4]; } a = {x};
#pragma GCC unroll 8
    for (int i = 0; i < LANES / 4; ++i) a.v[i] = __builtin_ia32_sqrtpd256(a.v[i]);
    return a.lanes;
  }
#endif
#pragma GCC unroll 64
  for (int i = 0; i < LANES; ++i) x[i] = __builtin_sqrt(x[i]);
  return x;
}
