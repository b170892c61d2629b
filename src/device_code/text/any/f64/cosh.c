// needs: exp_parts_f64 abs_f64
TK_FN tk_f64 tk_cosh_f64(tk_f64 x) {
  tk_f64 a, b;
  const tk_f64 magnitude = tk_abs_f64(x);
  const tk_f64 p = tk_exp_parts_f64(magnitude > 720.0 ? 720.0 : magnitude, 0.0, &a, &b);
  const tk_f64 half = p * (0.5 * a) * b;
  return half + 0.25 / half;
}
