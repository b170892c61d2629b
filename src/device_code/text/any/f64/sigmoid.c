// needs: exp_parts_f64 abs_f64
/* With z = e^-|x|: 1 / (1 + z) or z / (1 + z). */
TK_FN tk_f64 tk_sigmoid_f64(tk_f64 x) {
  tk_f64 a, b;
  const tk_f64 magnitude = tk_abs_f64(x);
  const tk_f64 p = tk_exp_parts_f64(-(magnitude > 746.0 ? 746.0 : magnitude), 0.0, &a, &b);
  const tk_f64 z = p * a * b;
  return (x < 0 ? z : 1.0) / (1.0 + z);
}
