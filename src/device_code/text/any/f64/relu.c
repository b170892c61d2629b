// needs:
TK_FN tk_f64 tk_relu_f64(tk_f64 x) { return x < 0 ? 0 : x; }
