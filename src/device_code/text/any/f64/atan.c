// needs: atan_core_f64 abs_f64 copysign_f64
TK_FN tk_f64 tk_atan_f64(tk_f64 x) {
  const tk_f64 magnitude = tk_abs_f64(x);
  const tk_i32 is_large = magnitude > 1.0;
  const tk_f64 near = tk_atan_core_f64(is_large ? 1.0 / magnitude : magnitude);
  const tk_f64 value = is_large ? 1.5707963267948966 - (near - 6.123233995736766e-17) : near;
  return x != x ? x : tk_copysign_f64(value, x);
}
