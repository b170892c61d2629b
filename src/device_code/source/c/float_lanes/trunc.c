// needs: round_magnitude_TYPE abs_TYPE copysign_TYPE
TK_FN TK_T tk_trunc_TYPE(TK_T x) {
  const TK_T magnitude = tk_abs_TYPE(x);
  const TK_T nearest = tk_round_magnitude_TYPE(magnitude);
  return tk_copysign_TYPE(tk_select_TYPE(nearest > magnitude, nearest - 1, nearest), x);
}
