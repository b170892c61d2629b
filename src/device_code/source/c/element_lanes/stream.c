// needs: places_TYPE
/* What is written past the caches is not read before and leaves them to others; whole lines only, and tk_settle before anybody else may read them. */
TK_FN void tk_stream_TYPE(TK_E *at, TK_T x, tk_i32 streams) {
#if defined(__AVX512F__) && !defined(__clang__)
  if (sizeof(TK_T) == 64 && streams && ((tk_i64)at & 63) == 0) {
    typedef tk_f32 v16 __attribute__((vector_size(64)));
    union { TK_T lanes[64 / sizeof(TK_T)]; v16 v; } a;
    a.lanes[0] = x;
    __builtin_ia32_movntps512((tk_f32 *)at, a.v);
    return;
  }
#endif
#if defined(__AVX__)
  if (sizeof(TK_T) == 32 && streams && ((tk_i64)at & 31) == 0) {
    typedef tk_f32 v8 __attribute__((vector_size(32)));
    union { TK_T lanes[32 / sizeof(TK_T)]; v8 v; } a;
    a.lanes[0] = x;
#if defined(__clang__)
    __builtin_nontemporal_store(a.v, (v8 *)at);
#else
    __builtin_ia32_movntps256((tk_f32 *)at, a.v);
#endif
    return;
  }
#endif
  tk_store_TYPE(at, x);
}
