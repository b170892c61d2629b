// needs: log_TYPE log1p_TYPE sqrt_TYPE basics_TYPE
TK_FN TK_T tk_acosh_TYPE(TK_T x) {
  const TK_T t = x - 1.0;
  const TK_T small = tk_log1p_TYPE(t + tk_sqrt_TYPE(2.0 * t + t * t));
  const TK_T large = tk_log_TYPE(x) + 0.69314718055994529;
  return tk_select_TYPE(x < 1.0, tk_nan_TYPE(), tk_select_TYPE(x < 1e9, small, large));
}
