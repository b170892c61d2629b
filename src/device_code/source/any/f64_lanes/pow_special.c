// needs: basics_TYPE abs_TYPE round_TYPE copysign_TYPE
/* `value` = |x|^y, completed with what depends on the sign of x, and where one operand decides. */
TK_FN TK_T tk_pow_special_TYPE(TK_T x, TK_T y, TK_T value) {
  const TK_T half = 0.5 * y, infinity = tk_infinity_TYPE();
  const TK_M is_integer = tk_round_TYPE(y) == y;
  const TK_M is_odd = is_integer & (tk_round_TYPE(half) != half);
  const TK_T undefined = tk_nan_TYPE();
  const TK_M is_undefined = (x < 0) & (x > -infinity) & (is_integer == 0);
  TK_T result = tk_select_TYPE(is_odd, tk_copysign_TYPE(value, x), value);
  result = tk_select_TYPE(is_undefined, undefined, result);
  const TK_M is_one = (y == 0) | (x == 1) | ((x == -1) & (tk_abs_TYPE(y) == infinity));
  return tk_select_TYPE(is_one, tk_splat_TYPE(1.0), result);
}
