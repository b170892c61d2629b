// needs: asin_core_f64 sqrt_f64 abs_f64 copysign_f64
TK_FN tk_f64 tk_asin_f64(tk_f64 x) {
  const tk_f64 magnitude = tk_abs_f64(x);
  const tk_i32 is_large = magnitude > 0.5;
  const tk_f64 z = is_large ? 0.5 * (1.0 - magnitude) : x * x;
  const tk_f64 s = is_large ? tk_sqrt_f64(z) : magnitude;
  const tk_f64 angle = tk_fma_f64(s, tk_asin_core_f64(z), s);
  const tk_f64 value = is_large ? 1.5707963267948966 - (2.0 * angle - 6.123233995736766e-17) : angle;
  return x != x ? x : tk_copysign_f64(value, x);
}
