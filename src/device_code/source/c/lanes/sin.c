// needs: basics_TYPE trig_parts_TYPE
TK_FN TK_T tk_sin_TYPE(TK_T x) {
  union { TK_T whole; tk_f32xHALF part[LANES / HALF]; } a = {x};
#pragma GCC unroll 2
  for (int i = 0; i < LANES / HALF; ++i) {
    tk_f64xHALF sine, cosine;
    tk_i64xHALF quadrant;
    tk_trig_parts_TYPE(a.part[i], &sine, &cosine, &quadrant);
    const tk_f64xHALF value = tk_select_f64xHALF((quadrant & 1) != 0, cosine, sine);
    const tk_f64xHALF result = tk_select_f64xHALF((quadrant & 2) != 0, -value, value);
    a.part[i] = __builtin_convertvector(result, tk_f32xHALF);
  }
  return a.whole;
}
