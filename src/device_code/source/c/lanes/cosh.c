// needs: basics_TYPE cosh_f64xHALF
TK_FN TK_T tk_cosh_TYPE(TK_T x) {
  union { TK_T whole; tk_f32xHALF part[LANES / HALF]; } a = {x};
#pragma GCC unroll 2
  for (int i = 0; i < LANES / HALF; ++i)
    a.part[i] = __builtin_convertvector(tk_cosh_f64xHALF(__builtin_convertvector(a.part[i], tk_f64xHALF)), tk_f32xHALF);
  return a.whole;
}
