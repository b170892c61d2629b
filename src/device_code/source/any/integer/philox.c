// needs: philox_word_TYPE
/* Word index % 4 of block index / 4. */
TK_FN TK_T tk_philox_TYPE(TK_T index, TK_T number, TK_T seed, TK_T offset) {
  const tk_u64 position = (tk_u64)(tk_i64)index;
  return tk_philox_word_TYPE(position >> 2, (tk_i32)(position & 3), number, seed, offset);
}
