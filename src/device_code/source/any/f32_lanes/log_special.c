// needs: basics_TYPE
/* `value` = log x as computed for 0 < x < inf, completed for all x. */
TK_FN TK_T tk_log_special_TYPE(TK_T x, TK_T value) {
  const TK_T infinity = tk_infinity_TYPE();
  const TK_T other = tk_select_TYPE(x < 0.0f, tk_nan_TYPE(), tk_select_TYPE(x == 0.0f, -infinity, x));
  return tk_select_TYPE((x > 0.0f) & (x < infinity), value, other);
}
