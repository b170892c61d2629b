// needs: basics_TYPE
TK_FN TK_T tk_nextafter_TYPE(TK_T x, TK_T y) {
  const TK_I bits = tk_bits_TYPE(x);
  const TK_I is_away = (x < y) == (x > 0);
  const TK_T next = tk_from_bits_TYPE((TK_I)(is_away ? (TK_U)bits + 1 : (TK_U)bits - 1));
  const TK_T from_zero = tk_from_bits_TYPE(1);
  const TK_T moved = x == 0 ? (y < 0 ? -from_zero : from_zero) : next;
  return x != x || y != y ? x + y : x == y ? y : moved;
}
