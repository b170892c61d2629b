// needs: basics_TYPE
/* x times the power of two whose parts are a and b, rounded once. */
TK_FN TK_T tk_scale_TYPE(TK_T x, TK_T a, TK_T b) { return x * a * b; }
/* 2^n = a * b, powers of two of about the same size; k has the bits of n + 254. */
TK_FN void tk_scale_parts_TYPE(TK_T n, TK_I k, TK_T *a, TK_T *b) {
  const TK_I half = k >> 1;
  *a = tk_from_bits_TYPE((TK_I)((TK_U)half << 23));
  *b = tk_from_bits_TYPE((TK_I)(((TK_U)k - (TK_U)half) << 23));
  (void)n;
}
/* For n in [-184, 0], k with the bits of n + 190: times 2^-63 nothing is rounded before the end. */
TK_FN void tk_scale_parts_below_TYPE(TK_T n, TK_I k, TK_T *a, TK_T *b) {
  *a = tk_from_bits_TYPE((TK_I)((TK_U)k << 23));
  *b = tk_splat_TYPE(1.08420217e-19f);
  (void)n;
}
