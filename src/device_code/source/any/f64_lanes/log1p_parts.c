// needs: basics_TYPE
/* n log 2 + log(1 + f) for 1 + f in [sqrt(1/2), sqrt(2)): with s = f / (2 + f), log(1 + f) = 2 atanh(s) = f - f^2/2 + s (f^2/2 + ...). */
TK_FN TK_T tk_log1p_parts_TYPE(TK_T f, TK_T n) {
  const TK_T s = f / (2.0 + f);
  const TK_T z = s * s;
  TK_T q = tk_splat_TYPE(0.13239127076193224);
  q = tk_horner_TYPE(q, z, 0.13251569773266761);
  q = tk_horner_TYPE(q, z, 0.15387020517740083);
  q = tk_horner_TYPE(q, z, 0.1818177743683167);
  q = tk_horner_TYPE(q, z, 0.22222222622053961);
  q = tk_horner_TYPE(q, z, 0.28571428569272883);
  q = tk_horner_TYPE(q, z, 0.40000000000005564);
  q = tk_horner_TYPE(q, z, 0.66666666666666663);
  const TK_T half_square = 0.5 * f * f;
  const TK_T small = tk_fma_TYPE(s, tk_fma_TYPE(z, q, half_square), n * 5.4979230187083712e-14);
  return tk_fma_TYPE(n, tk_splat_TYPE(0.69314718055989033), f - (half_square - small));
}
