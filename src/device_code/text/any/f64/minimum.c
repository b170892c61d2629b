// needs: basics_f64
/* NaN if either is NaN; of two zeros the negative one is the smaller. */
TK_FN tk_f64 tk_minimum_f64(tk_f64 x, tk_f64 y) {
  const tk_f64 either = tk_from_bits_f64(tk_bits_f64(x) | tk_bits_f64(y));
  const tk_f64 smaller = x < y ? x : y;
  return x != x ? x : x == y ? either : smaller;
}
