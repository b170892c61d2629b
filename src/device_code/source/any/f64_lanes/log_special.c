// needs: basics_TYPE
/* `value` = log x as computed for 0 < x < inf, completed for all x. */
TK_FN TK_T tk_log_special_TYPE(TK_T x, TK_T value) {
  const TK_T infinity = tk_infinity_TYPE(), nan = tk_nan_TYPE();
  const TK_T at_zero = tk_select_TYPE(x == 0, -infinity, x);
  const TK_T other = tk_select_TYPE(x < 0, nan, at_zero);
  const TK_M is_ordinary = (x > 0) & (x < infinity);
  return tk_select_TYPE(is_ordinary, value, other);
}
