// needs: basics_TYPE
/* NaN if either is NaN; of two zeros the positive one is the larger. */
TK_FN TK_T tk_maximum_TYPE(TK_T x, TK_T y) {
  TK_T larger = tk_select_TYPE(x > y, x, y);
  larger = tk_select_TYPE(x == y, tk_from_bits_TYPE(tk_bits_TYPE(x) & tk_bits_TYPE(y)), larger);
  return tk_select_TYPE(x != x, x, larger);
}
