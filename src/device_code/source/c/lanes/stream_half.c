// needs: halves_TYPE
/* See stream. */
TK_FN void tk_stream_half_TYPE(tk_u16 *at, TK_H x, tk_i32 streams) {
#if defined(__AVX512F__) && !defined(__clang__)
  if (LANES == 16 && streams && ((tk_i64)at & 31) == 0) {
    typedef long long v4 __attribute__((vector_size(32)));
    union { TK_H lanes; v4 v; } a = {x};
    __builtin_ia32_movntdq256((v4 *)at, a.v);
    return;
  }
#endif
#if defined(__AVX2__)
  if (LANES == 8 && streams && ((tk_i64)at & 15) == 0) {
    typedef long long v2 __attribute__((vector_size(16)));
    union { TK_H lanes; v2 v; } a = {x};
#if defined(__clang__)
    __builtin_nontemporal_store(a.v, (v2 *)at);
#else
    __builtin_ia32_movntdq((v2 *)at, a.v);
#endif
    return;
  }
#endif
  tk_store_half_TYPE(at, x);
}
