// needs: basics_f64
/* erf x for |x| < 1. */
TK_FN tk_f64 tk_erf_small_f64(tk_f64 x) {
  const tk_f64 z = x * x;
  tk_f64 q = -4.2355188361300845e-12;
  q = tk_horner_f64(q, z, 8.71221765639809e-11);
  q = tk_horner_f64(q, z, -1.216553832877259e-9);
  q = tk_horner_f64(q, z, 1.4792577843687147e-8);
  q = tk_horner_f64(q, z, -1.6364662864199545e-7);
  q = tk_horner_f64(q, z, 1.6462047092704589e-6);
  q = tk_horner_f64(q, z, -1.4925647658768491e-5);
  q = tk_horner_f64(q, z, 0.00012055332906380849);
  q = tk_horner_f64(q, z, -0.00085483270220257585);
  q = tk_horner_f64(q, z, 0.0052239776254248502);
  q = tk_horner_f64(q, z, -0.026866170645130003);
  q = tk_horner_f64(q, z, 0.11283791670955121);
  q = tk_horner_f64(q, z, -0.37612638903183754);
  q = tk_horner_f64(q, z, 0.12837916709551259);
  return tk_fma_f64(x, q, x);
}
