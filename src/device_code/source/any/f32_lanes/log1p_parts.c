// needs: basics_TYPE
/* n log 2 + log(1 + f) for f in [sqrt(1/2) - 1, sqrt(2) - 1]. */
TK_FN TK_T tk_log1p_parts_TYPE(TK_T f, TK_T n) {
  TK_T q = tk_splat_TYPE(0.0668415576f);
  q = tk_horner_TYPE(q, f, -0.116551459f);
  q = tk_horner_TYPE(q, f, 0.119054131f);
  q = tk_horner_TYPE(q, f, -0.124097466f);
  q = tk_horner_TYPE(q, f, 0.14217563f);
  q = tk_horner_TYPE(q, f, -0.166677266f);
  q = tk_horner_TYPE(q, f, 0.200022265f);
  q = tk_horner_TYPE(q, f, -0.250000149f);
  q = tk_horner_TYPE(q, f, 0.333333105f);
  const TK_T square = f * f;
  TK_T small = square * tk_fma_TYPE(f, q, tk_splat_TYPE(-0.5f));
  small = tk_fma_TYPE(n, tk_splat_TYPE(-1.90465421e-9f), small);
  return tk_fma_TYPE(n, tk_splat_TYPE(0.693147182f), f + small);
}
