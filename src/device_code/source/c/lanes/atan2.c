// needs: basics_TYPE atan2_f64xHALF
TK_FN TK_T tk_atan2_TYPE(TK_T y, TK_T x) {
  union { TK_T whole; tk_f32xHALF part[LANES / HALF]; } a = {y}, b = {x};
#pragma GCC unroll 2
  for (int i = 0; i < LANES / HALF; ++i) {
    const tk_f64xHALF height = __builtin_convertvector(a.part[i], tk_f64xHALF);
    const tk_f64xHALF width = __builtin_convertvector(b.part[i], tk_f64xHALF);
    a.part[i] = __builtin_convertvector(tk_atan2_f64xHALF(height, width), tk_f32xHALF);
  }
  return a.whole;
}
