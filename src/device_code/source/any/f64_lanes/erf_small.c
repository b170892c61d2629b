// needs: basics_TYPE
/* erf x for |x| < 1. */
TK_FN TK_T tk_erf_small_TYPE(TK_T x) {
  const TK_T z = x * x;
  TK_T q = tk_splat_TYPE(-4.2355188361300845e-12);
  q = tk_horner_TYPE(q, z, 8.71221765639809e-11);
  q = tk_horner_TYPE(q, z, -1.216553832877259e-9);
  q = tk_horner_TYPE(q, z, 1.4792577843687147e-8);
  q = tk_horner_TYPE(q, z, -1.6364662864199545e-7);
  q = tk_horner_TYPE(q, z, 1.6462047092704589e-6);
  q = tk_horner_TYPE(q, z, -1.4925647658768491e-5);
  q = tk_horner_TYPE(q, z, 0.00012055332906380849);
  q = tk_horner_TYPE(q, z, -0.00085483270220257585);
  q = tk_horner_TYPE(q, z, 0.0052239776254248502);
  q = tk_horner_TYPE(q, z, -0.026866170645130003);
  q = tk_horner_TYPE(q, z, 0.11283791670955121);
  q = tk_horner_TYPE(q, z, -0.37612638903183754);
  q = tk_horner_TYPE(q, z, 0.12837916709551259);
  return tk_fma_TYPE(x, q, x);
}
