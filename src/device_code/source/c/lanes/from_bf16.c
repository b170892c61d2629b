// needs: basics_TYPE
/* A half is the upper one of its f32: put in the odd places between zeros, which is one instruction where widening and shifting are two. */
TK_FN TK_T tk_from_bf16_TYPE(TK_H x) {
#if LANES == 16 && defined(__AVX512BW__) && defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
  return (TK_T)__builtin_shufflevector((TK_H){0}, x, 0, 16, 0, 17, 0, 18, 0, 19, 0, 20, 0, 21, 0, 22, 0, 23, 0, 24, 0, 25,
                                       0, 26, 0, 27, 0, 28, 0, 29, 0, 30, 0, 31);
#endif
#endif
  return tk_from_bits_TYPE((TK_I)(tk_widen_TYPE(x) << 16));
}
