// needs: basics_TYPE abs_TYPE
TK_FN TK_T tk_expm1_TYPE(TK_T x) {
  TK_T inside = tk_select_TYPE(x > 710.0, tk_splat_TYPE(710.0), x);
  inside = tk_select_TYPE(inside < -100.0, tk_splat_TYPE(-100.0), inside);
  const TK_T shifted = tk_fma_TYPE(inside, tk_splat_TYPE(1.4426950408889634), tk_splat_TYPE(6755399441055744.0));
  const TK_T n = shifted - 6755399441055744.0;
  const TK_U k = (TK_U)tk_bits_TYPE(shifted) - 0x4338000000000000ULL;
  TK_T r = tk_fma_TYPE(n, tk_splat_TYPE(-0.69314718055994529), inside);
  r = tk_fma_TYPE(n, tk_splat_TYPE(-2.3190468138462996e-17), r);
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
  const TK_T p = tk_fma_TYPE(r * r, q, r);
  /* Half the power of two: e^710 stays in range. */
  const TK_T t = tk_from_bits_TYPE((TK_I)((k + 1022) << 52));
  const TK_T result = 2.0 * tk_fma_TYPE(t, p, t - 0.5);
  return tk_select_TYPE(tk_abs_TYPE(x) < 1.1102230246251565e-16, x, result);
}
