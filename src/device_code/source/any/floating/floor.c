// needs: round_TYPE copysign_TYPE
TK_FN TK_T tk_floor_TYPE(TK_T x) {
  const TK_T nearest = tk_round_TYPE(x);
  return tk_copysign_TYPE(nearest > x ? nearest - 1 : nearest, x);
}
