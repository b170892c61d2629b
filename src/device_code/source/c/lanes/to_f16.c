// needs: basics_TYPE to_f16_bits_TYPE
TK_FN TK_H tk_to_f16_TYPE(TK_T x) {
#if defined(__AVX512F__) && !defined(__clang__)
  if (LANES == 16) {
    typedef tk_f32 v16 __attribute__((vector_size(64)));
    typedef short h16 __attribute__((vector_size(32)));
    union { TK_T lanes; v16 v; } a = {x};
    union { h16 v; TK_H lanes; } b;
    b.v = __builtin_ia32_vcvtps2ph512_mask(a.v, 0, (h16){0}, (unsigned short)-1);
    return b.lanes;
  }
#endif
#if defined(__F16C__) && !defined(__clang__)
  if (LANES % 8 == 0) {
    typedef tk_f32 v8 __attribute__((vector_size(32)));
    typedef short h8 __attribute__((vector_size(16)));
    union { TK_T lanes; v8 v[(LANES + 7) / 8]; } a = {x};
    union { h8 v[(LANES + 7) / 8]; TK_H lanes; } b;
#pragma GCC unroll 8
    for (int i = 0; i < LANES / 8; ++i) b.v[i] = __builtin_ia32_vcvtps2ph256(a.v[i], 0);
    return b.lanes;
  }
#endif
  return tk_to_f16_bits_TYPE(x);
}
