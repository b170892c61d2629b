// needs: asin_core_f64 sqrt_f64 abs_f64
TK_FN tk_f64 tk_acos_f64(tk_f64 x) {
  const tk_f64 magnitude = tk_abs_f64(x);
  const tk_i32 is_large = magnitude > 0.5;
  const tk_f64 z = is_large ? 0.5 * (1.0 - magnitude) : x * x;
  const tk_f64 s = is_large ? tk_sqrt_f64(z) : x;
  const tk_f64 angle = tk_fma_f64(s, tk_asin_core_f64(z), s);
  const tk_f64 turned = x < 0 ? 3.1415926535897931 - (2.0 * angle - 1.2246467991473532e-16) : 2.0 * angle;
  return is_large ? turned : 1.5707963267948966 - (angle - 6.123233995736766e-17);
}
