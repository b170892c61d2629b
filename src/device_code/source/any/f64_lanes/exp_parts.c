// needs: basics_TYPE
/* e^(x + low) = p * a * b for x in [-746, 710] and a low far below x: p in [0.7, 1.42], a and b powers of two of about the same
   size. A NaN gives p = NaN. */
TK_FN TK_T tk_exp_parts_TYPE(TK_T x, TK_T low, TK_T *a, TK_T *b) {
  const TK_T shifted = tk_fma_TYPE(x, tk_splat_TYPE(1.4426950408889634), tk_splat_TYPE(6755399441055744.0));
  const TK_T n = shifted - 6755399441055744.0;
  const TK_U k = (TK_U)tk_bits_TYPE(shifted) - 0x4338000000000000ULL;
  TK_T r = tk_fma_TYPE(n, tk_splat_TYPE(-0.69314718055994529), x);
  r = tk_fma_TYPE(n, tk_splat_TYPE(-2.3190468138462996e-17), r) + low;
  TK_T q = tk_splat_TYPE(2.0864698832191276e-9);
  q = tk_horner_TYPE(q, r, 2.5109189661613651e-8);
  q = tk_horner_TYPE(q, r, 2.7557440054075107e-7);
  q = tk_horner_TYPE(q, r, 2.7557243763415212e-6);
  q = tk_horner_TYPE(q, r, 2.4801587123837827e-5);
  q = tk_horner_TYPE(q, r, 0.00019841269886586215);
  q = tk_horner_TYPE(q, r, 0.0013888888888990913);
  q = tk_horner_TYPE(q, r, 0.0083333333333214347);
  q = tk_horner_TYPE(q, r, 0.041666666666666435);
  q = tk_horner_TYPE(q, r, 0.16666666666666677);
  q = tk_horner_TYPE(q, r, 0.5);
  /* Half of k, which may be negative; shifted without a sign, which compilers vectorise. */
  const TK_U half = ((k + 4096) >> 1) - 2048;
  *a = tk_from_bits_TYPE((TK_I)((half + 1023) << 52));
  *b = tk_from_bits_TYPE((TK_I)((k - half + 1023) << 52));
  return 1.0 + tk_fma_TYPE(r * r, q, r);
}
