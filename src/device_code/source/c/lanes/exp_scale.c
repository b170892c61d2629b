// needs: basics_TYPE
/* The portable text, and for 16 lanes of AVX-512 its instruction that scales by a power of two: both parts are the exponent then. */
#if defined(__AVX512F__) && !defined(__clang__)
#define TK_HAS_SCALE(lanes) ((lanes) == 16)
#else
#define TK_HAS_SCALE(lanes) 0
#endif
TK_FN TK_T tk_scale_TYPE(TK_T x, TK_T a, TK_T b) {
#if defined(__AVX512F__) && !defined(__clang__)
  if (LANES == 16) {
    typedef tk_f32 v16 __attribute__((vector_size(64)));
    union { TK_T lanes; v16 v; } number = {x}, exponent = {a};
    number.v = __builtin_ia32_scalefps512_mask(number.v, exponent.v, number.v, (unsigned short)-1, 4);
    return number.lanes;
  }
#endif
  return x * a * b;
}
TK_FN void tk_scale_parts_TYPE(TK_T n, TK_I k, TK_T *a, TK_T *b) {
  const TK_I half = k >> 1;
  *a = TK_HAS_SCALE(LANES) ? n : tk_from_bits_TYPE((TK_I)((TK_U)half << 23));
  *b = TK_HAS_SCALE(LANES) ? n : tk_from_bits_TYPE((TK_I)(((TK_U)k - (TK_U)half) << 23));
}
TK_FN void tk_scale_parts_below_TYPE(TK_T n, TK_I k, TK_T *a, TK_T *b) {
  *a = TK_HAS_SCALE(LANES) ? n : tk_from_bits_TYPE((TK_I)((TK_U)k << 23));
  *b = TK_HAS_SCALE(LANES) ? n : tk_splat_TYPE(1.08420217e-19f);
}
