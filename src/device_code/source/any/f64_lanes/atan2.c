// needs: atan_core_TYPE abs_TYPE copysign_TYPE basics_TYPE
/* The angle of the point (x, y). */
TK_FN TK_T tk_atan2_TYPE(TK_T y, TK_T x) {
  const TK_T height = tk_abs_TYPE(y), width = tk_abs_TYPE(x);
  const TK_M is_steep = height > width;
  const TK_T top = tk_select_TYPE(is_steep, width, height), bottom = tk_select_TYPE(is_steep, height, width);
  const TK_T ratio = tk_select_TYPE(bottom == 0, tk_splat_TYPE(0.0), tk_select_TYPE(top == bottom, tk_splat_TYPE(1.0), top / bottom));
  TK_T angle = tk_atan_core_TYPE(ratio);
  angle = tk_select_TYPE(is_steep, 1.5707963267948966 - (angle - 6.123233995736766e-17), angle);
  angle = tk_select_TYPE(tk_bits_TYPE(x) < 0, 3.1415926535897931 - (angle - 1.2246467991473532e-16), angle);
  return tk_select_TYPE((x != x) | (y != y), x + y, tk_copysign_TYPE(angle, y));
}
