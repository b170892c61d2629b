// needs:
TK_FN tk_f64 tk_sqrt_f64(tk_f64 x) { return __builtin_sqrt(x); }
