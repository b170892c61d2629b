// needs:
// The words that f32 functions are written in, for one lane.
TK_FN tk_i32 tk_bits_f32(tk_f32 x) {
  tk_i32 bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  return bits;
}
TK_FN tk_f32 tk_from_bits_f32(tk_i32 bits) {
  tk_f32 x;
  __builtin_memcpy(&x, &bits, sizeof x);
  return x;
}
TK_FN tk_f32 tk_splat_f32(tk_f32 x) { return x; }
TK_FN tk_f32 tk_convert_f32(tk_i32 x) { return (tk_f32)x; }
TK_FN tk_f32 tk_select_f32(tk_i32 condition, tk_f32 x, tk_f32 y) { return condition ? x : y; }
TK_FN tk_i32 tk_choose_f32(tk_i32 condition, tk_i32 x, tk_i32 y) { return condition ? x : y; }
TK_FN tk_u32 tk_widen_f32(tk_u16 x) { return x; }
TK_FN tk_u16 tk_narrow_f32(tk_u32 x) { return (tk_u16)x; }
TK_FN tk_f32 tk_infinity_f32(void) { return tk_from_bits_f32(0x7f800000); }
TK_FN tk_f32 tk_nan_f32(void) { return tk_from_bits_f32(0x7fc00000); }
/* x * y + z, rounded once; without the instruction through f64, where the product is exact. */
TK_FN tk_f32 tk_fma_f32(tk_f32 x, tk_f32 y, tk_f32 z) {
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
  return __builtin_fmaf(x, y, z);
#else
  return (tk_f32)((tk_f64)x * (tk_f64)y + (tk_f64)z);
#endif
}
TK_FN tk_f32 tk_horner_f32(tk_f32 p, tk_f32 x, tk_f32 c) { return tk_fma_f32(p, x, c); }
