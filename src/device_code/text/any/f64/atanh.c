// needs: log1p_f64 abs_f64 copysign_f64
TK_FN tk_f64 tk_atanh_f64(tk_f64 x) {
  const tk_f64 magnitude = tk_abs_f64(x);
  /* Below 1/2, 2m + 2m^2 / (1 - m) is nearer to the argument than 2m / (1 - m) is. */
  const tk_f64 twice = 2.0 * magnitude;
  const tk_f64 argument = magnitude < 0.5 ? twice + twice * magnitude / (1.0 - magnitude) : twice / (1.0 - magnitude);
  const tk_f64 value = magnitude < 1e-8 ? magnitude : 0.5 * tk_log1p_f64(argument);
  return x != x ? x : tk_copysign_f64(value, x);
}
