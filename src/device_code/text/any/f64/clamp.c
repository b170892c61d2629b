// needs: maximum_f64 minimum_f64
TK_FN tk_f64 tk_clamp_f64(tk_f64 x, tk_f64 low, tk_f64 high) { return tk_minimum_f64(tk_maximum_f64(x, low), high); }
