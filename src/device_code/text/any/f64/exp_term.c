// needs: exp_f64
TK_FN tk_f64 tk_exp_term_f64(tk_f64 x) { return tk_exp_f64(x); }
