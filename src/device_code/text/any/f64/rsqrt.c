// needs: sqrt_f64
TK_FN tk_f64 tk_rsqrt_f64(tk_f64 x) { return 1.0 / tk_sqrt_f64(x); }
