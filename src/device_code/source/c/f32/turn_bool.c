// needs:
/* to[i * to_stride + j] = from[j * from_stride + i] for i < rows, j < columns, in squares of eight elements. */
TK_SLOW void tk_turn_bool_f32(tk_bool *restrict to, tk_i64 to_stride, const tk_bool *restrict from, tk_i64 from_stride,
                              tk_i64 rows, tk_i64 columns) {
  typedef tk_bool v8 __attribute__((vector_size(8)));
  typedef v8 near8 __attribute__((aligned(1), may_alias));
  const tk_i64 whole_rows = rows > 0 ? rows / 8 * 8 : 0, whole_columns = columns > 0 ? columns / 8 * 8 : 0;
  /* Rows at twice the distance after each step. */
#define TK_ZIP(p, q)                                                          \
  _Pragma("GCC unroll 4") for (int k = 0; k < 4; ++k) {                       \
    q[2 * k] = __builtin_shufflevector(p[k], p[k + 4], 0, 8, 1, 9, 2, 10, 3, 11);      \
    q[2 * k + 1] = __builtin_shufflevector(p[k], p[k + 4], 4, 12, 5, 13, 6, 14, 7, 15); \
  }
  for (tk_i64 i = 0; i < whole_rows; i += 8) {
    for (tk_i64 j = 0; j < whole_columns; j += 8) {
      v8 x[8], z[8];
#pragma GCC unroll 8
      for (int k = 0; k < 8; ++k) x[k] = *(const near8 *)(from + (j + k) * from_stride + i);
      TK_ZIP(x, z) TK_ZIP(z, x) TK_ZIP(x, z)
#pragma GCC unroll 8
      for (int k = 0; k < 8; ++k) *(near8 *)(to + (i + k) * to_stride + j) = z[k];
    }
  }
#undef TK_ZIP
  for (tk_i64 i = 0; i < rows; ++i) {
    for (tk_i64 j = i < whole_rows ? whole_columns : 0; j < columns; ++j) to[i * to_stride + j] = from[j * from_stride + i];
  }
}
