// needs: basics_TYPE
/* x times the power of two whose parts are a and b, rounded once. */
TK_FN TK_T tk_scale_TYPE(TK_T x, TK_T a, TK_T b) { return x * a * b; }
/* 2^n = a * b, powers of two of about the same size; k is the integer n. */
TK_FN void tk_scale_parts_TYPE(TK_T n, TK_I k, TK_T *a, TK_T *b) {
  const TK_I half = k >> 1;
  *a = tk_from_bits_TYPE((TK_I)((TK_U)(half + 127) << 23));
  *b = tk_from_bits_TYPE((TK_I)((TK_U)(k - half + 127) << 23));
  (void)n;
}
