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
  tk_store_half_TYPE(at, x);
}
