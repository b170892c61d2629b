// needs: basics_f32
/* n log 2 + log(1 + f) for f in [sqrt(1/2) - 1, sqrt(2) - 1]: n (log 2 + f32's error of it) + (f + f^2 Q(f)). */
TK_FN tk_f32 tk_log1p_parts_f32(tk_f32 f, tk_f32 n) {
  tk_f32 q = 0.0874200389f;
  q = tk_horner_f32(q, f, -0.143116623f);
  q = tk_horner_f32(q, f, 0.149171963f);
  q = tk_horner_f32(q, f, -0.165698066f);
  q = tk_horner_f32(q, f, 0.199620724f);
  q = tk_horner_f32(q, f, -0.250017911f);
  q = tk_horner_f32(q, f, 0.333339512f);
  q = tk_horner_f32(q, f, -0.499999911f);
  return tk_fma_f32(n, 0.693147182f, tk_fma_f32(f * f, q, f));
}
