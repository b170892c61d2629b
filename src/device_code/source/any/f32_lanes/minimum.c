// needs: basics_TYPE
/* NaN if either is NaN; of two zeros the negative one is the smaller. */
TK_FN TK_T tk_minimum_TYPE(TK_T x, TK_T y) {
  TK_T smaller = tk_select_TYPE(x < y, x, y);
  smaller = tk_select_TYPE(x == y, tk_from_bits_TYPE(tk_bits_TYPE(x) | tk_bits_TYPE(y)), smaller);
  return tk_select_TYPE(x != x, x, smaller);
}
