// needs: log_split_TYPE log_special_TYPE
TK_FN TK_T tk_log2_TYPE(TK_T x) {
  TK_T n;
  const TK_T f = tk_log_split_TYPE(x, &n);
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
  const TK_T small = square * tk_fma_TYPE(f, q, tk_splat_TYPE(-0.5f));
  /* (f + small) / log 2, the product of f in two parts. */
  const TK_T high = f * 1.44269502f;
  TK_T low = tk_fma_TYPE(f, tk_splat_TYPE(1.44269502f), -high);
  low = tk_fma_TYPE(f, tk_splat_TYPE(1.92596303e-8f), low);
  low = tk_fma_TYPE(small, tk_splat_TYPE(1.44269502f), low);
  return tk_log_special_TYPE(x, n + (high + low));
}
