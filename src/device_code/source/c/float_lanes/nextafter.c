// needs: basics_TYPE
TK_FN TK_T tk_nextafter_TYPE(TK_T x, TK_T y) {
  const TK_I bits = tk_bits_TYPE(x);
  const TK_M is_away = (x < y) == (x > 0);
  const TK_T next = tk_from_bits_TYPE((TK_I)((TK_U)bits - 1 + (TK_U)(is_away & 2)));
  const TK_T from_zero = tk_from_bits_TYPE((TK_I){0} + 1);
  const TK_T moved = tk_select_TYPE(x == 0, tk_select_TYPE(y < 0, -from_zero, from_zero), next);
  return tk_select_TYPE((x != x) | (y != y), x + y, tk_select_TYPE(x == y, y, moved));
}
