// needs: exp_parts_f64
TK_FN tk_f64 tk_exp_f64(tk_f64 x) {
  tk_f64 a, b;
  x = x > 710.0 ? 710.0 : x;
  x = x < -746.0 ? -746.0 : x;
  const tk_f64 p = tk_exp_parts_f64(x, 0.0, &a, &b);
  return p * a * b;
}
