// needs: vectors_xLANES
/* 0, 1, 2, ... and how far a limit is from the first of as many numbers side by side, as far as it is one of them: comparing the two compares the numbers. */
TK_TABLE tk_i32 tk_number_table_TYPE[64] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
                                            22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43,
                                            44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63};
TK_FN tk_i32xLANES tk_numbers_TYPE(void) {
  typedef tk_i32xLANES near __attribute__((aligned(4), may_alias));
  return *(const near *)tk_number_table_TYPE;
}
TK_FN tk_i32xLANES tk_distance_TYPE(tk_i64 limit, tk_i64 first) {
  const tk_i64 distance = limit < first ? -1 : limit > first + LANES ? LANES : limit - first;
  return (tk_i32xLANES){0} + (tk_i32)distance;
}
/* first, first + 1, ... */
TK_FN tk_i64xLANES tk_count_TYPE(tk_i64 first) { return first + __builtin_convertvector(tk_numbers_TYPE(), tk_i64xLANES); }
