// needs: basics_f32 vectors_xLANES
// The words that f32 functions are written in, for LANES lanes at once. A condition is a mask: all bits set, or none.
TK_FN TK_I tk_bits_TYPE(TK_T x) { return (TK_I)x; }
TK_FN TK_T tk_from_bits_TYPE(TK_I bits) { return (TK_T)bits; }
TK_FN TK_T tk_splat_TYPE(tk_f32 x) { return x - (TK_T){0}; }
TK_FN TK_T tk_convert_TYPE(TK_I x) { return __builtin_convertvector(x, TK_T); }
TK_FN TK_T tk_select_TYPE(TK_I mask, TK_T x, TK_T y) { return (TK_T)(((TK_I)x & mask) | ((TK_I)y & ~mask)); }
TK_FN TK_I tk_choose_TYPE(TK_I mask, TK_I x, TK_I y) { return (x & mask) | (y & ~mask); }
/* gcc makes four instructions of what is one. */
TK_FN TK_U tk_widen_TYPE(TK_H x) {
#if defined(__AVX512F__) && !defined(__clang__)
  if (LANES == 16) {
    typedef tk_i32 v16 __attribute__((vector_size(64)));
    typedef short h16 __attribute__((vector_size(32)));
    union { TK_H lanes; h16 v; } a = {x};
    union { v16 v; TK_U lanes; } b;
    b.v = __builtin_ia32_pmovzxwd512_mask(a.v, (v16){0}, (unsigned short)-1);
    return b.lanes;
  }
#endif
#if defined(__AVX2__) && !defined(__clang__)
  if (LANES == 8) {
    typedef tk_i32 v8 __attribute__((vector_size(32)));
    typedef short h8 __attribute__((vector_size(16)));
    union { TK_H lanes; h8 v; } a = {x};
    union { v8 v; TK_U lanes; } b;
    b.v = __builtin_ia32_pmovzxwd256(a.v);
    return b.lanes;
  }
#endif
  return __builtin_convertvector(x, TK_U);
}
TK_FN TK_H tk_narrow_TYPE(TK_U x) {
#if defined(__AVX512F__) && !defined(__clang__)
  if (LANES == 16) {
    typedef tk_i32 v16 __attribute__((vector_size(64)));
    typedef short h16 __attribute__((vector_size(32)));
    union { TK_U lanes; v16 v; } a = {x};
    union { h16 v; TK_H lanes; } b;
    b.v = __builtin_ia32_pmovdw512_mask(a.v, (h16){0}, (unsigned short)-1);
    return b.lanes;
  }
#endif
  return __builtin_convertvector(x, TK_H);
}
TK_FN TK_T tk_infinity_TYPE(void) { return tk_splat_TYPE(tk_infinity_f32()); }
TK_FN TK_T tk_nan_TYPE(void) { return tk_splat_TYPE(tk_nan_f32()); }
TK_FN TK_T tk_fma_TYPE(TK_T x, TK_T y, TK_T z) {
#if defined(__clang__) && (defined(__FMA__) || defined(__ARM_FEATURE_FMA))
  return __builtin_elementwise_fma(x, y, z);
#else
#if defined(__AVX512F__)
  if (LANES == 16) {
    typedef tk_f32 v16 __attribute__((vector_size(64)));
    union { TK_T lanes; v16 v; } a = {x}, b = {y}, c = {z};
    c.v = __builtin_ia32_vfmaddps512_mask(a.v, b.v, c.v, (unsigned short)-1, 4);
    return c.lanes;
  }
#endif
#if defined(__FMA__) && defined(__AVX__)
  if (LANES == 4) {
    typedef tk_f32 v4 __attribute__((vector_size(16)));
    union { TK_T lanes; v4 v; } a = {x}, b = {y}, c = {z};
    c.v = __builtin_ia32_vfmaddps(a.v, b.v, c.v);
    return c.lanes;
  }
  if (LANES % 8 == 0) {
    typedef tk_f32 v8 __attribute__((vector_size(32)));
    union { TK_T lanes; v8 v[(LANES + 7) / 8]; } a = {x}, b = {y}, c = {z};
#pragma GCC unroll 8
    for (int i = 0; i < LANES / 8; ++i) c.v[i] = __builtin_ia32_vfmaddps256(a.v[i], b.v[i], c.v[i]);
    return c.lanes;
  }
#endif
#pragma GCC unroll 64
  for (int i = 0; i < LANES; ++i) z[i] = tk_fma_f32(x[i], y[i], z[i]);
  return z;
#endif
}
TK_FN TK_T tk_horner_TYPE(TK_T p, TK_T x, tk_f32 c) { return tk_fma_TYPE(p, x, tk_splat_TYPE(c)); }
