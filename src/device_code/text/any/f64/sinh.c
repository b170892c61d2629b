// needs: expm1_f64 exp_parts_f64 abs_f64 copysign_f64
TK_FN tk_f64 tk_sinh_f64(tk_f64 x) {
  tk_f64 a, b;
  const tk_f64 magnitude = tk_abs_f64(x);
  const tk_f64 e = tk_expm1_f64(magnitude > 30.0 ? 30.0 : magnitude);
  const tk_f64 p = tk_exp_parts_f64(magnitude > 720.0 ? 720.0 : magnitude, 0.0, &a, &b);
  /* Tiny x gives itself: half of a subnormal would lose a bit. */
  const tk_f64 small = magnitude < 1e-8 ? magnitude : 0.5 * (e + e / (e + 1.0));
  return x != x ? x : tk_copysign_f64(magnitude < 30.0 ? small : p * (0.5 * a) * b, x);
}
