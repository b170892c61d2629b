// needs:
// The words that f64 functions are written in.
TK_FN tk_i64 tk_bits_f64(tk_f64 x) {
  tk_i64 bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  return bits;
}
TK_FN tk_f64 tk_from_bits_f64(tk_i64 bits) {
  tk_f64 x;
  __builtin_memcpy(&x, &bits, sizeof x);
  return x;
}
/* x * y + z, rounded once; without the instruction from halves of the factors (right to the last bit or the one before it, for
   magnitudes far from the ends of the range). */
TK_FN tk_f64 tk_fma_f64(tk_f64 x, tk_f64 y, tk_f64 z) {
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
  return __builtin_fma(x, y, z);
#else
  const tk_f64 x_high = tk_from_bits_f64(tk_bits_f64(x) & -0x8000000LL), x_low = x - x_high;
  const tk_f64 y_high = tk_from_bits_f64(tk_bits_f64(y) & -0x8000000LL), y_low = y - y_high;
  const tk_f64 product = x * y;
  const tk_f64 rest = ((x_high * y_high - product) + x_high * y_low + x_low * y_high) + x_low * y_low;
  const tk_f64 sum = product + z, part = sum - product;
  const tk_f64 lost = (product - (sum - part)) + (z - part) + rest;
  /* Without adding 0 to -0, or a NaN to what is infinite. */
  return lost < 0 || lost > 0 ? sum + lost : sum;
#endif
}
TK_FN tk_f64 tk_horner_f64(tk_f64 p, tk_f64 x, tk_f64 c) { return tk_fma_f64(p, x, c); }
TK_FN tk_f64 tk_infinity_f64(void) { return tk_from_bits_f64(0x7ff0000000000000LL); }
TK_FN tk_f64 tk_nan_f64(void) { return tk_from_bits_f64(0x7ff8000000000000LL); }
/* The high half of the product. */
TK_FN tk_u64 tk_multiply_high_f64(tk_u64 x, tk_u64 y) { return (tk_u64)(((unsigned __int128)x * y) >> 64); }
TK_FN tk_i32 tk_leading_zeros_f64(tk_u64 x) { return __builtin_clzll(x); }
TK_FN tk_f64 tk_splat_f64(tk_f64 x) { return x; }
TK_FN tk_f64 tk_select_f64(tk_i32 condition, tk_f64 x, tk_f64 y) { return condition ? x : y; }
