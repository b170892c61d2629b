// needs: basics_TYPE
/* The number if one is NaN; of two zeros the negative one is the smaller. */
TK_FN TK_T tk_fmin_TYPE(TK_T x, TK_T y) {
  const TK_T zero = tk_from_bits_TYPE(tk_bits_TYPE(x) | tk_bits_TYPE(y));
  const TK_T smaller = tk_select_TYPE(x < y, x, y);
  return tk_select_TYPE(y != y, x, tk_select_TYPE(x == y, zero, smaller));
}
