// needs: basics_TYPE log_f64xHALF exp_f64xHALF pow_special_f64xHALF abs_f64xHALF
TK_FN TK_T tk_pow_TYPE(TK_T x, TK_T y) {
  union { TK_T whole; tk_f32xHALF part[LANES / HALF]; } a = {x}, b = {y};
#pragma GCC unroll 2
  for (int i = 0; i < LANES / HALF; ++i) {
    const tk_f64xHALF base = __builtin_convertvector(a.part[i], tk_f64xHALF);
    const tk_f64xHALF power = __builtin_convertvector(b.part[i], tk_f64xHALF);
    const tk_f64xHALF magnitude = tk_exp_f64xHALF(power * tk_log_f64xHALF(tk_abs_f64xHALF(base)));
    a.part[i] = __builtin_convertvector(tk_pow_special_f64xHALF(base, power, magnitude), tk_f32xHALF);
  }
  return a.whole;
}
