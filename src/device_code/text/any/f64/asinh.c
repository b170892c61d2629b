// needs: log_f64 log1p_f64 sqrt_f64 abs_f64 copysign_f64
TK_FN tk_f64 tk_asinh_f64(tk_f64 x) {
  const tk_f64 magnitude = tk_abs_f64(x), square = x * x;
  const tk_f64 small = tk_log1p_f64(magnitude + square / (1.0 + tk_sqrt_f64(1.0 + square)));
  const tk_f64 large = tk_log_f64(magnitude) + 0.69314718055994529;
  return x != x ? x : tk_copysign_f64(magnitude < 1e9 ? small : large, x);
}
