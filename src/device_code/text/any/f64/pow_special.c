// needs: basics_f64 abs_f64 round_f64 copysign_f64
/* `value` = |x|^y, completed with what depends on the sign of x, and where one operand decides. */
TK_FN tk_f64 tk_pow_special_f64(tk_f64 x, tk_f64 y, tk_f64 value) {
  const tk_f64 half = 0.5 * y, infinity = tk_infinity_f64();
  const tk_i32 is_integer = tk_round_f64(y) == y;
  const tk_i32 is_odd = is_integer & (tk_round_f64(half) != half);
  const tk_f64 undefined = tk_nan_f64();
  const tk_i32 is_undefined = (x < 0) & (x > -infinity) & !is_integer;
  tk_f64 result = is_odd ? tk_copysign_f64(value, x) : value;
  result = is_undefined ? undefined : result;
  const tk_i32 is_one = (y == 0) | (x == 1) | ((x == -1) & (tk_abs_f64(y) == infinity));
  return is_one ? 1.0 : result;
}
