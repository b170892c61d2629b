// needs: erf_small_TYPE erfc_large_TYPE abs_TYPE copysign_TYPE
TK_FN TK_T tk_erf_TYPE(TK_T x) {
  const TK_T magnitude = tk_abs_TYPE(x);
  return tk_select_TYPE(magnitude < 1.0, tk_erf_small_TYPE(x), tk_copysign_TYPE(1.0 - tk_erfc_large_TYPE(magnitude), x));
}
