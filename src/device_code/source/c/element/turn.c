// needs:
/* to[i * to_stride + j] = from[j * from_stride + i] for i < rows, j < columns, in squares of a few elements; if `streams`, past the caches by whole lines
   (then tk_settle is due). */
TK_SLOW void tk_turn_TYPE(TK_E *restrict to, tk_i64 to_stride, const TK_E *restrict from, tk_i64 from_stride,
                          tk_i64 rows, tk_i64 columns, tk_i32 streams) {
  typedef TK_E v4 __attribute__((vector_size(4 * sizeof(TK_E))));
  typedef v4 near4 __attribute__((aligned(sizeof(TK_E)), may_alias));
  const tk_i64 whole_rows = rows > 0 ? rows / 4 * 4 : 0, whole_columns = columns > 0 ? columns / 4 * 4 : 0;
#define TK_SQUARE(y, s, j)                                                                               \
  do {                                                                                                   \
    const TK_E *const corner = from + (j) * from_stride + i;                                             \
    const v4 a = *(const near4 *)corner, b = *(const near4 *)(corner + from_stride);                     \
    const v4 c = *(const near4 *)(corner + 2 * from_stride), d = *(const near4 *)(corner + 3 * from_stride); \
    const v4 ab = __builtin_shufflevector(a, b, 0, 4, 1, 5), cd = __builtin_shufflevector(c, d, 0, 4, 1, 5); \
    const v4 AB = __builtin_shufflevector(a, b, 2, 6, 3, 7), CD = __builtin_shufflevector(c, d, 2, 6, 3, 7); \
    y[0][s] = __builtin_shufflevector(ab, cd, 0, 1, 4, 5);                                               \
    y[1][s] = __builtin_shufflevector(ab, cd, 2, 3, 6, 7);                                               \
    y[2][s] = __builtin_shufflevector(AB, CD, 0, 1, 4, 5);                                               \
    y[3][s] = __builtin_shufflevector(AB, CD, 2, 3, 6, 7);                                               \
  } while (0)
  for (tk_i64 i = 0; i < whole_rows; i += 4) {
    tk_i64 j = 0;
    TK_E *const out = to + i * to_stride;
#if defined(__SSE2__) && !defined(__clang__)
    enum { kLine = 64 / sizeof(TK_E), kSquares = kLine / 4, kParts = sizeof(v4) / 16 };
    if (streams && (((tk_i64)to | to_stride * (tk_i64)sizeof(TK_E)) & 63) == 0) {
      typedef tk_f32 part __attribute__((vector_size(16)));
      for (; j + kLine <= whole_columns; j += kLine) {
        union { v4 squares[kSquares]; part parts[kSquares * kParts]; } y[4];
        v4 square[4][1];
#pragma GCC unroll 4
        for (int s = 0; s < kSquares; ++s) {
          TK_SQUARE(square, 0, j + 4 * s);
#pragma GCC unroll 4
          for (int k = 0; k < 4; ++k) y[k].squares[s] = square[k][0];
        }
#pragma GCC unroll 16
        for (int k = 0; k < 16; ++k)
          __builtin_ia32_movntps((tk_f32 *)(out + k / 4 * to_stride + j) + k % 4 * 4, y[k / 4].parts[k % 4]);
      }
    }
#endif
    for (; j < whole_columns; j += 4) {
      v4 y[4][1];
      TK_SQUARE(y, 0, j);
#pragma GCC unroll 4
      for (int k = 0; k < 4; ++k) *(near4 *)(out + k * to_stride + j) = y[k][0];
    }
  }
#undef TK_SQUARE
  for (tk_i64 i = 0; i < rows; ++i) {
    for (tk_i64 j = i < whole_rows ? whole_columns : 0; j < columns; ++j) to[i * to_stride + j] = from[j * from_stride + i];
  }
}
