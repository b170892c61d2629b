// needs: basics_TYPE
/* NaN if either is NaN; of two zeros the positive one is the larger. */
TK_FN TK_T tk_maximum_TYPE(TK_T x, TK_T y) {
  const TK_T both = tk_from_bits_TYPE(tk_bits_TYPE(x) & tk_bits_TYPE(y));
  const TK_T larger = tk_select_TYPE(x > y, x, y);
  return tk_select_TYPE(x != x, x, tk_select_TYPE(x == y, both, larger));
}
