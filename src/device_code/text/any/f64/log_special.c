// needs: basics_f64
/* `value` = log x as computed for 0 < x < inf, completed for all x. */
TK_FN tk_f64 tk_log_special_f64(tk_f64 x, tk_f64 value) {
  const tk_f64 infinity = tk_infinity_f64(), nan = tk_nan_f64();
  const tk_f64 at_zero = x == 0 ? -infinity : x;
  const tk_f64 other = x < 0 ? nan : at_zero;
  const tk_i32 is_ordinary = (x > 0) & (x < infinity);
  return is_ordinary ? value : other;
}
