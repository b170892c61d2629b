// needs: basics_f64
/* n log 2 + log(1 + f) for 1 + f in [sqrt(1/2), sqrt(2)): with s = f / (2 + f), log(1 + f) = 2 atanh(s) = f - f^2/2 + s (f^2/2 + ...). */
TK_FN tk_f64 tk_log1p_parts_f64(tk_f64 f, tk_f64 n) {
  const tk_f64 s = f / (2.0 + f);
  const tk_f64 z = s * s;
  tk_f64 q = 0.13239127076193224;
  q = tk_horner_f64(q, z, 0.13251569773266761);
  q = tk_horner_f64(q, z, 0.15387020517740083);
  q = tk_horner_f64(q, z, 0.1818177743683167);
  q = tk_horner_f64(q, z, 0.22222222622053961);
  q = tk_horner_f64(q, z, 0.28571428569272883);
  q = tk_horner_f64(q, z, 0.40000000000005564);
  q = tk_horner_f64(q, z, 0.66666666666666663);
  const tk_f64 half_square = 0.5 * f * f;
  const tk_f64 small = tk_fma_f64(s, tk_fma_f64(z, q, half_square), n * 5.4979230187083712e-14);
  return tk_fma_f64(n, 0.69314718055989033, f - (half_square - small));
}
