// needs: basics_f64
/* NaN if either is NaN; of two zeros the positive one is the larger. */
TK_FN tk_f64 tk_maximum_f64(tk_f64 x, tk_f64 y) {
  const tk_f64 both = tk_from_bits_f64(tk_bits_f64(x) & tk_bits_f64(y));
  const tk_f64 larger = x > y ? x : y;
  return x != x ? x : x == y ? both : larger;
}
