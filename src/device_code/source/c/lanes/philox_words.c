// needs: basics_TYPE
/* Words index, index + 1, ... as tk_philox gives them, `count` of them, which is at most 16 * LANES: each block of four is computed once. They begin at the address
   that is returned, in `room`, which has 24 * LANES. */
typedef TK_U tk_near_words_TYPE __attribute__((aligned(4), may_alias));
TK_FN TK_U tk_load_words_TYPE(const tk_u32 *at) { return *(const tk_near_words_TYPE *)at; }
TK_SLOW const tk_u32 *tk_philox_words_TYPE(tk_u32 *restrict room, tk_i64 index, tk_i64 count, tk_i64 number, tk_i64 seed,
                                           tk_i64 offset) {
  const tk_u64 first = ((tk_u64)index >> 2) + (tk_u64)offset;
  const tk_i64 blocks = ((index & 3) + count + 3) / 4;
  tk_u32 k[10], l[10];
  for (int i = 0; i < 10; ++i) {
    k[i] = (tk_u32)seed + 0x9E3779B9u * (tk_u32)i;
    l[i] = (tk_u32)((tk_u64)seed >> 32) + 0xBB67AE85u * (tk_u32)i;
  }
#if defined(__AVX512F__) && !defined(__clang__) && LANES >= 4
  /* A lane of 64 bits has a word in its lower half; what is above is not looked at. */
  typedef tk_u64 v8 __attribute__((vector_size(64)));
  typedef long long s8 __attribute__((vector_size(64)));
  typedef tk_i32 w16 __attribute__((vector_size(64)));
  typedef v8 near8 __attribute__((aligned(4), may_alias));
  for (tk_i64 block = 0; block < blocks; block += 8) {
    const v8 low = first + (tk_u64)block + (v8){0, 1, 2, 3, 4, 5, 6, 7};
    v8 a = low, b = low >> 32, c = (v8){0} + (tk_u32)number, d = (v8){0} + (tk_u32)((tk_u64)number >> 32);
#pragma GCC unroll 10
    for (int i = 0; i < 10; ++i) {
      const v8 p = (v8)__builtin_ia32_pmuludq512_mask((w16)a, (w16)((v8){0} + 0xD2511F53u), (s8)a, 255);
      const v8 q = (v8)__builtin_ia32_pmuludq512_mask((w16)c, (w16)((v8){0} + 0xCD9E8D57u), (s8)c, 255);
      const v8 next_a = (q >> 32) ^ b ^ k[i], next_c = (p >> 32) ^ d ^ l[i];
      a = next_a, b = q, c = next_c, d = p;
    }
    const v8 x = (a & 0xffffffffu) | (b << 32), y = (c & 0xffffffffu) | (d << 32);
    *(near8 *)(room + 4 * block) = __builtin_shuffle(x, y, (v8){0, 8, 1, 9, 2, 10, 3, 11});
    *(near8 *)(room + 4 * block + 16) = __builtin_shuffle(x, y, (v8){4, 12, 5, 13, 6, 14, 7, 15});
  }
#elif defined(__SSE2__) && LANES >= 4
  /* The same, with two vectors: their products are on their way at once. */
#if defined(__AVX2__)
  enum { kWide = 4 };
#else
  enum { kWide = 2 };
#endif
  typedef tk_u64 wide __attribute__((vector_size(8 * kWide)));
  typedef tk_i32 words __attribute__((vector_size(8 * kWide)));
  typedef wide near_wide __attribute__((aligned(4), may_alias));
#if defined(__clang__)
#define TK_PRODUCTS(x, y) (((x) & 0xffffffffu) * ((wide){0} + (y)))
#elif defined(__AVX2__)
#define TK_PRODUCTS(x, y) ((wide)__builtin_ia32_pmuludq256((words)(x), (words)((wide){0} + (y))))
#else
#define TK_PRODUCTS(x, y) ((wide)__builtin_ia32_pmuludq128((words)(x), (words)((wide){0} + (y))))
#endif
  wide places = {0};
#pragma GCC unroll 4
  for (int i = 0; i < kWide; ++i) places[i] = (tk_u64)i;
  for (tk_i64 block = 0; block < blocks; block += 2 * kWide) {
    wide a[2], b[2], c[2], d[2];
#pragma GCC unroll 2
    for (int j = 0; j < 2; ++j) {
      a[j] = first + (tk_u64)(block + kWide * j) + places;
      b[j] = a[j] >> 32, c[j] = (wide){0} + (tk_u32)number, d[j] = (wide){0} + (tk_u32)((tk_u64)number >> 32);
    }
#pragma GCC unroll 10
    for (int i = 0; i < 10; ++i) {
#pragma GCC unroll 2
      for (int j = 0; j < 2; ++j) {
        const wide p = TK_PRODUCTS(a[j], 0xD2511F53u), q = TK_PRODUCTS(c[j], 0xCD9E8D57u);
        a[j] = (q >> 32) ^ b[j] ^ k[i], c[j] = (p >> 32) ^ d[j] ^ l[i], b[j] = q, d[j] = p;
      }
    }
#pragma GCC unroll 2
    for (int j = 0; j < 2; ++j) {
      const wide x = (a[j] & 0xffffffffu) | (b[j] << 32), y = (c[j] & 0xffffffffu) | (d[j] << 32);
      tk_u32 *const to = room + 4 * (block + kWide * j);
#if defined(__AVX2__)
      *(near_wide *)to = (wide){x[0], y[0], x[1], y[1]};
      *(near_wide *)(to + 8) = (wide){x[2], y[2], x[3], y[3]};
#else
      *(near_wide *)to = (wide){x[0], y[0]};
      *(near_wide *)(to + 4) = (wide){x[1], y[1]};
#endif
    }
  }
#undef TK_PRODUCTS
#else
  for (tk_i64 block = 0; block < blocks; ++block) {
    const tk_u64 low = first + (tk_u64)block;
    tk_u32 a = (tk_u32)low, b = (tk_u32)(low >> 32), c = (tk_u32)number, d = (tk_u32)((tk_u64)number >> 32);
    for (int i = 0; i < 10; ++i) {
      const tk_u64 p = (tk_u64)0xD2511F53u * a, q = (tk_u64)0xCD9E8D57u * c;
      a = (tk_u32)(q >> 32) ^ b ^ k[i], b = (tk_u32)q, c = (tk_u32)(p >> 32) ^ d ^ l[i], d = (tk_u32)p;
    }
    room[4 * block] = a, room[4 * block + 1] = b, room[4 * block + 2] = c, room[4 * block + 3] = d;
  }
#endif
  return room + (index & 3);
}
