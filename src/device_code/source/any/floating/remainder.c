// needs: fmod_TYPE
/* With the sign of y. */
TK_FN TK_T tk_remainder_TYPE(TK_T x, TK_T y) {
  const TK_T r = tk_fmod_TYPE(x, y);
  return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}
