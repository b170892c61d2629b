// needs: basics_TYPE
/* Nearest even; a NaN stays a quiet NaN. x86's instruction takes subnormals for 0, so it is for vectors without them. */
TK_FN TK_H tk_to_bf16_TYPE(TK_T x) {
#if defined(__AVX512BF16__) && defined(__AVX512DQ__) && !defined(__clang__)
  if (LANES == 16) {
    typedef tk_f32 v16 __attribute__((vector_size(64)));
    union { TK_T lanes; v16 v; } a = {x};
    enum { kSubnormal = 0x20 };
    if (__builtin_expect(__builtin_ia32_fpclassps512_mask(a.v, kSubnormal, (unsigned short)-1) == 0, 1)) {
      union { __typeof__(__builtin_ia32_cvtneps2bf16_v16sf(a.v)) v; TK_H lanes; } b;
      b.v = __builtin_ia32_cvtneps2bf16_v16sf(a.v);
      return b.lanes;
    }
  }
#endif
#if defined(__AVX2__)
  if (LANES == 8) {
    typedef tk_u32 u8 __attribute__((vector_size(32)));
    typedef char b32 __attribute__((vector_size(32)));
    typedef tk_f32 v8 __attribute__((vector_size(32)));
    typedef tk_i64 l4 __attribute__((vector_size(32)));
    typedef tk_i64 l2 __attribute__((vector_size(16)));
    union { TK_T lanes; u8 bits; v8 v; } a = {x};
    const u8 number = a.bits + ((a.bits >> 16) & 1) + 0x7fff, nan = a.bits | 0x400000;
    const v8 chosen = __builtin_ia32_blendvps256((v8)number, (v8)nan, __builtin_ia32_cmpps256(a.v, a.v, 3));
    /* The upper halves of both registers' lanes, then side by side. */
    const b32 places = {2, 3, 6, 7, 10, 11, 14, 15, 2, 3, 6, 7, 10, 11, 14, 15, 2, 3, 6, 7, 10, 11, 14, 15, 2, 3, 6, 7, 10, 11, 14, 15};
    const l4 halves = (l4)__builtin_ia32_pshufb256((b32)chosen, places);
    union { l2 v; TK_H lanes; } b;
    b.v = (l2){halves[0], halves[2]};
    return b.lanes;
  }
#endif
  const TK_U bits = (TK_U)tk_bits_TYPE(x);
  const TK_U number = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  const TK_U nan = (bits >> 16) | 0x40;
  return tk_narrow_TYPE((TK_U)tk_choose_TYPE(x != x, (TK_I)nan, (TK_I)number));
}
