// needs: basics_TYPE
/* gcc makes four instructions of what is one. */
TK_FN tk_f64xLANES tk_to_f64_TYPE(TK_T x) {
#if defined(__AVX512F__) && !defined(__clang__)
  if (LANES == 8) {
    typedef tk_f32 from __attribute__((vector_size(32)));
    typedef tk_f64 to __attribute__((vector_size(64)));
    union { TK_T lanes; from v; } a = {x};
    union { to v; tk_f64xLANES lanes; } b;
    b.v = __builtin_ia32_cvtps2pd512_mask(a.v, (to){0}, (unsigned char)-1, 4);
    return b.lanes;
  }
#endif
  return __builtin_convertvector(x, tk_f64xLANES);
}
