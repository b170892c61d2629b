// needs: basics_f64 vectors_xLANES
// The words that f64 functions are written in, for LANES lanes at once. A condition is a mask: all bits set, or none.
TK_FN TK_I tk_bits_TYPE(TK_T x) { return (TK_I)x; }
TK_FN TK_T tk_from_bits_TYPE(TK_I bits) { return (TK_T)bits; }
TK_FN TK_T tk_splat_TYPE(tk_f64 x) { return x - (TK_T){0}; }
TK_FN TK_T tk_select_TYPE(TK_I mask, TK_T x, TK_T y) { return (TK_T)(((TK_I)x & mask) | ((TK_I)y & ~mask)); }
TK_FN TK_T tk_infinity_TYPE(void) { return tk_splat_TYPE(tk_infinity_f64()); }
TK_FN TK_T tk_nan_TYPE(void) { return tk_splat_TYPE(tk_nan_f64()); }
TK_FN TK_T tk_fma_TYPE(TK_T x, TK_T y, TK_T z) {
#if defined(__clang__) && (defined(__FMA__) || defined(__ARM_FEATURE_FMA))
  return __builtin_elementwise_fma(x, y, z);
#else
#if defined(__AVX512F__)
  if (LANES == 8) {
    typedef tk_f64 v8 __attribute__((vector_size(64)));
    union { TK_T lanes; v8 v; } a = {x}, b = {y}, c = {z};
    c.v = __builtin_ia32_vfmaddpd512_mask(a.v, b.v, c.v, (unsigned char)-1, 4);
    return c.lanes;
  }
#endif
#if defined(__FMA__) && defined(__AVX__)
  if (LANES % 4 == 0) {
    typedef tk_f64 v4 __attribute__((vector_size(32)));
    union { TK_T lanes; v4 v[(LANES + 3) / 4]; } a = {x}, b = {y}, c = {z};
#pragma GCC unroll 8
    for (int i = 0; i < LANES / 4; ++i) c.v[i] = __builtin_ia32_vfmaddpd256(a.v[i], b.v[i], c.v[i]);
    return c.lanes;
  }
#endif
#pragma GCC unroll 64
  for (int i = 0; i < LANES; ++i) z[i] = tk_fma_f64(x[i], y[i], z[i]);
  return z;
#endif
}
TK_FN TK_T tk_horner_TYPE(TK_T p, TK_T x, tk_f64 c) { return tk_fma_TYPE(p, x, tk_splat_TYPE(c)); }
