// needs: basics_TYPE from_f16_bits_TYPE
TK_FN TK_T tk_from_f16_TYPE(TK_H x) {
#if defined(__AVX512F__) && !defined(__clang__)
  if (LANES == 16) {
    typedef tk_f32 v16 __attribute__((vector_size(64)));
    typedef short h16 __attribute__((vector_size(32)));
    union { TK_H lanes; h16 v; } a = {x};
    union { v16 v; TK_T lanes; } b;
    b.v = __builtin_ia32_vcvtph2ps512_mask(a.v, (v16){0}, (unsigned short)-1, 4);
    return b.lanes;
  }
#endif
#if defined(__F16C__) && !defined(__clang__)
  if (LANES % 8 == 0) {
    typedef tk_f32 v8 __attribute__((vector_size(32)));
    typedef short h8 __attribute__((vector_size(16)));
    union { TK_H lanes; h8 v[(LANES + 7) / 8]; } a = {x};
    union { v8 v[(LANES + 7) / 8]; TK_T lanes; } b;
#pragma GCC unroll 8
    for (int i = 0; i < LANES / 8; ++i) b.v[i] = __builtin_ia32_vcvtph2ps256(a.v[i]);
    return b.lanes;
  }
#endif
  return tk_from_f16_bits_TYPE(x);
}
