// needs: log_f64 log1p_f64 sqrt_f64 basics_f64
TK_FN tk_f64 tk_acosh_f64(tk_f64 x) {
  const tk_f64 t = x - 1.0;
  const tk_f64 small = tk_log1p_f64(t + tk_sqrt_f64(2.0 * t + t * t));
  const tk_f64 large = tk_log_f64(x) + 0.69314718055994529;
  return x < 1.0 ? tk_nan_f64() : x < 1e9 ? small : large;
}
