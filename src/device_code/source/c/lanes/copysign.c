// needs: basics_TYPE
/* The magnitude of x with the sign of y. clang 19 combines the bits with a choice by a mask around them, and takes others (AVX-512). */
TK_FN TK_T tk_copysign_TYPE(TK_T x, TK_T y) {
#if defined(__clang__) && defined(__has_builtin)
#if __has_builtin(__builtin_elementwise_copysign)
  return __builtin_elementwise_copysign(x, y);
#endif
#endif
  return tk_from_bits_TYPE((tk_bits_TYPE(x) & 0x7fffffff) | (tk_bits_TYPE(y) & (-0x7fffffff - 1)));
}
