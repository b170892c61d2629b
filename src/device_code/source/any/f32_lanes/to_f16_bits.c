// needs: basics_TYPE
/* Nearest even; from 65520 on infinite, a NaN stays a quiet NaN. All cases are computed, then one is chosen. */
TK_FN TK_H tk_to_f16_bits_TYPE(TK_T x) {
  const TK_I bits = tk_bits_TYPE(x);
  const TK_I magnitude = bits & 0x7fffffff;
  const TK_I rebiased = magnitude - 0x38000000;
  const TK_I normal = (rebiased + 0xfff + ((rebiased >> 13) & 1)) >> 13;
  /* Below 2^-14 the result is subnormal: adding 0.5 rounds at the right bit. */
  const TK_I subnormal = tk_bits_TYPE(tk_from_bits_TYPE(magnitude) + 0.5f) - 0x3f000000;
  const TK_I nan = 0x7e00 | ((magnitude >> 13) & 0x3ff);
  const TK_I finite = tk_choose_TYPE(magnitude < 0x38800000, subnormal, normal);
  const TK_I number = tk_choose_TYPE(magnitude >= 0x477ff000, 0x7c00 + (magnitude & 0), finite);
  const TK_I result = tk_choose_TYPE(magnitude > 0x7f800000, nan, number);
  return tk_narrow_TYPE((TK_U)(result | ((bits >> 16) & 0x8000)));
}
