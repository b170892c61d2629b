// needs: exp_parts_f64 abs_f64
/* x sigmoid(x); x is multiplied in before the scaling, so that no bits are lost where z is subnormal. -inf gives NaN. */
TK_FN tk_f64 tk_silu_f64(tk_f64 x) {
  tk_f64 a, b;
  const tk_f64 magnitude = tk_abs_f64(x);
  const tk_f64 p = tk_exp_parts_f64(-(magnitude > 800.0 ? 800.0 : magnitude), 0.0, &a, &b);
  const tk_f64 z = p * a * b;
  const tk_f64 top = x * p * a * b;
  const tk_f64 left = magnitude > 800.0 ? x * 0.0 : top / (1.0 + z);
  return x < 0 ? left : x / (1.0 + z);
}
