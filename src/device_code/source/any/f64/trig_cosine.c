// needs: basics_f64
/* cos(r + low) for |r| <= pi/4. */
TK_FN tk_f64 tk_trig_cosine_f64(tk_f64 r, tk_f64 low) {
  const tk_f64 square = r * r, half = 0.5 * square;
  tk_f64 q = 4.7377751024560033e-14;
  q = tk_horner_f64(q, square, -1.1470285548255337e-11);
  q = tk_horner_f64(q, square, 2.0876754294965871e-9);
  q = tk_horner_f64(q, square, -2.7557319215043359e-7);
  q = tk_horner_f64(q, square, 2.4801587301570676e-5);
  q = tk_horner_f64(q, square, -0.0013888888888888874);
  q = tk_horner_f64(q, square, 0.041666666666666664);
  const tk_f64 value = 1.0 - half;
  return value + (((1.0 - value) - half) + tk_fma_f64(square * square, q, -r * low));
}
