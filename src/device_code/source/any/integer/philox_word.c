// needs:
/* Word `word` of block `block` of Philox 4x32-10: the seed is the key, the counter has block + offset in its low half and `number` in its high one. All
   words are computed, in rounds without a loop: what neighbours of one block compute is the same but for the choice at the end. */
TK_FN TK_T tk_philox_word_TYPE(tk_u64 block, tk_i32 word, TK_T number, TK_T seed, TK_T offset) {
  const tk_u64 low = block + (tk_u64)(tk_i64)offset;
  const tk_u64 high = (tk_u64)(tk_i64)number, key = (tk_u64)(tk_i64)seed;
  tk_word a = (tk_u32)low, b = (tk_u32)(low >> 32), c = (tk_u32)high, d = (tk_u32)(high >> 32);
  tk_u32 k = (tk_u32)key, l = (tk_u32)(key >> 32);
  tk_word p, q;
#define TK_ROUND                                                                                     \
  p = TK_HIGH_PRODUCT(0xD2511F53u, (tk_u32)a), q = TK_HIGH_PRODUCT(0xCD9E8D57u, (tk_u32)c);           \
  d ^= l ^ p, b ^= k ^ q;                                                                            \
  p = (tk_u32)((tk_word)0xD2511F53u * (tk_u32)a), q = (tk_u32)((tk_word)0xCD9E8D57u * (tk_u32)c);     \
  a = b, b = q, c = d, d = p;                                                                        \
  k += 0x9E3779B9u, l += 0xBB67AE85u;
  TK_ROUND TK_ROUND TK_ROUND TK_ROUND TK_ROUND TK_ROUND TK_ROUND TK_ROUND TK_ROUND TK_ROUND
#undef TK_ROUND
  const tk_word even = (word & 2) != 0 ? c : a, odd = (word & 2) != 0 ? d : b;
  return (TK_T)((word & 1) != 0 ? odd : even);
}
