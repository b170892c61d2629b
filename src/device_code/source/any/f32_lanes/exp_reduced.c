// needs: basics_TYPE
/* e^x = (1 + t) 2^n: t in [-0.3, 0.42] is given, n is whole; the lowest 9 bits of k are those of n + bias, an even
   number. A NaN gives t = NaN. */
TK_FN TK_T tk_exp_reduced_TYPE(TK_T x, tk_f32 bias, TK_T *n, TK_I *k) {
  /* Adding 1.5 * 2^23 rounds to an integer, which then stands in the low bits. */
  const TK_T shifted = tk_fma_TYPE(x, tk_splat_TYPE(1.44269502f), tk_splat_TYPE(12582912.0f + bias));
  *n = shifted - (12582912.0f + bias);
  *k = tk_bits_TYPE(shifted);
  /* The first difference is exact; the rest of n log 2 comes in where it is not rounded away. */
  const TK_T high = tk_fma_TYPE(*n, tk_splat_TYPE(-0.693147182f), x);
  const TK_T low = *n * 1.90465421e-9f;
  const TK_T r = high + low;
  /* In pairs: half as long a chain of operations that wait for each other. */
  const TK_T square = r * r;
  const TK_T top = tk_horner_TYPE(tk_splat_TYPE(0.00019742563f), r, 0.0013933708f);
  const TK_T middle = tk_horner_TYPE(tk_splat_TYPE(0.00833356753f), r, 0.0416664779f);
  const TK_T bottom = tk_horner_TYPE(tk_splat_TYPE(0.166666657f), r, 0.5f);
  const TK_T q = tk_fma_TYPE(tk_fma_TYPE(top, square, middle), square, bottom);
  return high + tk_fma_TYPE(square, q, low);
}
