// needs: basics_TYPE
/* gcc makes four instructions of what is one. */
TK_FN tk_i64xLANES tk_to_i64_TYPE(TK_T x) {
#if defined(__AVX512F__) && !defined(__clang__)
  if (LANES == 8 && sizeof(TK_E) == 4) {
    typedef tk_i32 from __attribute__((vector_size(32)));
    typedef tk_i64 to __attribute__((vector_size(64)));
    union { TK_T lanes; from v; } a = {x};
    union { to v; tk_i64xLANES lanes; } b;
    b.v = __builtin_ia32_pmovsxdq512_mask(a.v, (to){0}, (unsigned char)-1);
    return b.lanes;
  }
#endif
  return __builtin_convertvector(x, tk_i64xLANES);
}
