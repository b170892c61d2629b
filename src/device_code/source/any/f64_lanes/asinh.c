// needs: log_TYPE log1p_TYPE sqrt_TYPE abs_TYPE copysign_TYPE
TK_FN TK_T tk_asinh_TYPE(TK_T x) {
  const TK_T magnitude = tk_abs_TYPE(x), square = x * x;
  const TK_T small = tk_log1p_TYPE(magnitude + square / (1.0 + tk_sqrt_TYPE(1.0 + square)));
  const TK_T large = tk_log_TYPE(magnitude) + 0.69314718055994529;
  return tk_copysign_TYPE(tk_select_TYPE(magnitude < 1e9, small, large), x);
}
