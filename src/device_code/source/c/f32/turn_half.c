// needs:
/* to[i * to_stride + j] = from[j * from_stride + i] for i < rows, j < columns, in squares of eight elements; if `streams`, past the caches by whole lines
   (then tk_settle is due). */
TK_SLOW void tk_turn_half_f32(tk_u16 *restrict to, tk_i64 to_stride, const tk_u16 *restrict from, tk_i64 from_stride,
                              tk_i64 rows, tk_i64 columns, tk_i32 streams) {
  typedef tk_u16 v8 __attribute__((vector_size(16)));
  typedef v8 near8 __attribute__((aligned(2), may_alias));
  const tk_i64 whole_rows = rows > 0 ? rows / 8 * 8 : 0, whole_columns = columns > 0 ? columns / 8 * 8 : 0;
  /* Rows at twice the distance after each turn. */
#define TK_ZIP(p, q)                                                          \
  _Pragma("GCC unroll 4") for (int k = 0; k < 4; ++k) {                       \
    q[2 * k] = __builtin_shufflevector(p[k], p[k + 4], 0, 8, 1, 9, 2, 10, 3, 11);      \
    q[2 * k + 1] = __builtin_shufflevector(p[k], p[k + 4], 4, 12, 5, 13, 6, 14, 7, 15); \
  }
#define TK_SQUARE(y, s, j)                                                                             \
  do {                                                                                                 \
    v8 x[8], z[8];                                                                                     \
    _Pragma("GCC unroll 8") for (int k = 0; k < 8; ++k) x[k] = *(const near8 *)(from + ((j) + k) * from_stride + i); \
    TK_ZIP(x, z) TK_ZIP(z, x) TK_ZIP(x, z)                                                             \
    _Pragma("GCC unroll 8") for (int k = 0; k < 8; ++k) y[k][s] = z[k];                                \
  } while (0)
  for (tk_i64 i = 0; i < whole_rows; i += 8) {
    tk_i64 j = 0;
    tk_u16 *const out = to + i * to_stride;
#if defined(__SSE2__) && !defined(__clang__)
    if (streams && (((tk_i64)to | to_stride * 2) & 63) == 0) {
      typedef long long v2 __attribute__((vector_size(16)));
      for (; j + 32 <= whole_columns; j += 32) {
        v8 y[8][4];
#pragma GCC unroll 4
        for (int s = 0; s < 4; ++s) TK_SQUARE(y, s, j + 8 * s);
#pragma GCC unroll 32
        for (int k = 0; k < 32; ++k)
          __builtin_ia32_movntdq((v2 *)(out + k / 4 * to_stride + j + k % 4 * 8), (v2)y[k / 4][k % 4]);
      }
    }
#endif
    for (; j < whole_columns; j += 8) {
      v8 y[8][1];
      TK_SQUARE(y, 0, j);
#pragma GCC unroll 8
      for (int k = 0; k < 8; ++k) *(near8 *)(out + k * to_stride + j) = y[k][0];
    }
  }
#undef TK_SQUARE
#undef TK_ZIP
  for (tk_i64 i = 0; i < rows; ++i) {
    for (tk_i64 j = i < whole_rows ? whole_columns : 0; j < columns; ++j) {
      to[i * to_stride + j] = from[j * from_stride + i];
    }
  }
}
