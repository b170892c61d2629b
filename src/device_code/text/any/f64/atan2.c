// needs: atan_core_f64 abs_f64 copysign_f64 basics_f64
/* The angle of the point (x, y). */
TK_FN tk_f64 tk_atan2_f64(tk_f64 y, tk_f64 x) {
  const tk_f64 height = tk_abs_f64(y), width = tk_abs_f64(x);
  const tk_i32 is_steep = height > width;
  const tk_f64 top = is_steep ? width : height, bottom = is_steep ? height : width;
  const tk_f64 ratio = bottom == 0 ? 0 : top == bottom ? 1 : top / bottom;
  tk_f64 angle = tk_atan_core_f64(ratio);
  angle = is_steep ? 1.5707963267948966 - (angle - 6.123233995736766e-17) : angle;
  angle = tk_bits_f64(x) < 0 ? 3.1415926535897931 - (angle - 1.2246467991473532e-16) : angle;
  return x != x || y != y ? x + y : tk_copysign_f64(angle, y);
}
