// needs: erf_small_TYPE erfc_large_TYPE abs_TYPE
TK_FN TK_T tk_erfc_TYPE(TK_T x) {
  const TK_T magnitude = tk_abs_TYPE(x);
  const TK_T tail = tk_erfc_large_TYPE(magnitude);
  const TK_T large = tk_select_TYPE(x < 0, 2.0 - tail, tail);
  return tk_select_TYPE(magnitude < 0.5, 1.0 - tk_erf_small_TYPE(x), large);
}
