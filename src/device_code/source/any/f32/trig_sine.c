// needs: basics_f64
/* sin r in f64, good enough to be rounded to f32. */
TK_FN tk_f64 tk_trig_sine_f32(tk_f64 r) {
  const tk_f64 square = r * r;
  tk_f64 q = 2.7183791552760857e-6;
  q = tk_horner_f64(q, square, -0.00019839345547131016);
  q = tk_horner_f64(q, square, 0.0083333294368553284);
  q = tk_horner_f64(q, square, -0.16666666642338313);
  /* Not r + r^3 q, which makes +0 of -0. */
  return r * tk_fma_f64(square, q, 1.0);
}
