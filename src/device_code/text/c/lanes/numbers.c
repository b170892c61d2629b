// needs: basics_TYPE
/* 0, 1, 2, ... and how far a limit is from the first of as many numbers side by side, as far as it is one of them: comparing the two compares the numbers. */
#if LANES == 16
TK_FN TK_I tk_numbers_TYPE(void) { return (TK_I){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}; }
#else
TK_FN TK_I tk_numbers_TYPE(void) { return (TK_I){0, 1, 2, 3, 4, 5, 6, 7}; }
#endif
TK_FN TK_I tk_distance_TYPE(tk_i64 limit, tk_i64 first) {
  const tk_i64 distance = limit < first ? -1 : limit > first + LANES ? LANES : limit - first;
  return (TK_I){0} + (tk_i32)distance;
}
