// needs: basics_f64
/* sin(r + low) for |r| <= pi/4. */
TK_FN tk_f64 tk_trig_sine_f64(tk_f64 r, tk_f64 low) {
  const tk_f64 square = r * r;
  tk_f64 q = -7.5789139366833642e-13;
  q = tk_horner_f64(q, square, 1.6058371665573986e-10);
  q = tk_horner_f64(q, square, -2.5052104957892055e-8);
  q = tk_horner_f64(q, square, 2.7557319214402227e-6);
  q = tk_horner_f64(q, square, -0.00019841269841255565);
  q = tk_horner_f64(q, square, 0.0083333333333333228);
  q = tk_horner_f64(q, square, -0.16666666666666666);
  return r + tk_fma_f64(r * square, q, low * (1.0 - 0.5 * square));
}
