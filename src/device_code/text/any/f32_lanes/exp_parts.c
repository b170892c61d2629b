// needs: basics_TYPE
/* e^x = (1 + t) * a * b for x in [-127, 89]: t in [-0.3, 0.42], a and b powers of two of about the same size. A NaN gives t = NaN. */
TK_FN TK_T tk_exp_parts_TYPE(TK_T x, TK_T *a, TK_T *b) {
  /* Adding 1.5 * 2^23 rounds to an integer, which then stands in the low bits. */
  const TK_T shifted = tk_fma_TYPE(x, tk_splat_TYPE(1.44269502f), tk_splat_TYPE(12582912.0f));
  const TK_T n = shifted - 12582912.0f;
  const TK_I k = tk_bits_TYPE(shifted) - 0x4b400000;
  /* The first difference is exact; the rest of n log 2 comes in where it is not rounded away. */
  const TK_T high = tk_fma_TYPE(n, tk_splat_TYPE(-0.693147182f), x);
  const TK_T low = n * 1.90465421e-9f;
  const TK_T r = high + low;
  TK_T q = tk_splat_TYPE(0.00019742563f);
  q = tk_horner_TYPE(q, r, 0.0013933708f);
  q = tk_horner_TYPE(q, r, 0.00833356753f);
  q = tk_horner_TYPE(q, r, 0.0416664779f);
  q = tk_horner_TYPE(q, r, 0.166666657f);
  q = tk_horner_TYPE(q, r, 0.5f);
  const TK_I half = k >> 1;
  *a = tk_from_bits_TYPE((TK_I)((TK_U)(half + 127) << 23));
  *b = tk_from_bits_TYPE((TK_I)((TK_U)(k - half + 127) << 23));
  return high + tk_fma_TYPE(r * r, q, low);
}
