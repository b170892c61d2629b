// needs: basics_f64
TK_FN tk_f64 tk_trig_cosine_f32(tk_f64 r) {
  const tk_f64 square = r * r;
  tk_f64 q = -2.7205272458049231e-7;
  q = tk_horner_f64(q, square, 2.4799454266587804e-5);
  q = tk_horner_f64(q, square, -0.0013888883476920477);
  q = tk_horner_f64(q, square, 0.041666666619196886);
  return tk_fma_f64(square * square, q, tk_fma_f64(square, -0.5, 1.0));
}
