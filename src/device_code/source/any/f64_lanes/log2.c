// needs: log_pair_TYPE log_special_TYPE
TK_FN TK_T tk_log2_TYPE(TK_T x) {
  TK_T low;
  const TK_T high = tk_log_pair_TYPE(x, &low);
  const TK_T value = high * 1.4426950408889634;
  const TK_T rest = tk_fma_TYPE(high, tk_splat_TYPE(1.4426950408889634), -value) + tk_fma_TYPE(high, tk_splat_TYPE(2.0355273740931033e-17), low * 1.4426950408889634);
  return tk_log_special_TYPE(x, value + rest);
}
