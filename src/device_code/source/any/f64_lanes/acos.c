// needs: asin_core_TYPE sqrt_TYPE abs_TYPE
TK_FN TK_T tk_acos_TYPE(TK_T x) {
  const TK_T magnitude = tk_abs_TYPE(x);
  const TK_M is_large = magnitude > 0.5;
  const TK_T z = tk_select_TYPE(is_large, 0.5 * (1.0 - magnitude), x * x);
  const TK_T s = tk_select_TYPE(is_large, tk_sqrt_TYPE(z), x);
  const TK_T angle = tk_fma_TYPE(s, tk_asin_core_TYPE(z), s);
  const TK_T turned = tk_select_TYPE(x < 0, 3.1415926535897931 - (2.0 * angle - 1.2246467991473532e-16), 2.0 * angle);
  return tk_select_TYPE(is_large, turned, 1.5707963267948966 - (angle - 6.123233995736766e-17));
}
