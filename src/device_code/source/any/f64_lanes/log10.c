// needs: log_pair_TYPE log_special_TYPE
TK_FN TK_T tk_log10_TYPE(TK_T x) {
  TK_T low;
  const TK_T high = tk_log_pair_TYPE(x, &low);
  const TK_T value = high * 0.43429448190325182;
  const TK_T rest = tk_fma_TYPE(high, tk_splat_TYPE(0.43429448190325182), -value) + tk_fma_TYPE(high, tk_splat_TYPE(1.0983196502167651e-17), low * 0.43429448190325182);
  return tk_log_special_TYPE(x, value + rest);
}
