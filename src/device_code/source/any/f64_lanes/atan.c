// needs: atan_core_TYPE abs_TYPE copysign_TYPE
TK_FN TK_T tk_atan_TYPE(TK_T x) {
  const TK_T magnitude = tk_abs_TYPE(x);
  const TK_M is_large = magnitude > 1.0;
  const TK_T near = tk_atan_core_TYPE(tk_select_TYPE(is_large, 1.0 / magnitude, magnitude));
  const TK_T value = tk_select_TYPE(is_large, 1.5707963267948966 - (near - 6.123233995736766e-17), near);
  return tk_copysign_TYPE(value, x);
}
