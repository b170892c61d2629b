// needs: basics_f64
TK_FN tk_f64 tk_abs_f64(tk_f64 x) { return tk_from_bits_f64(tk_bits_f64(x) & 0x7fffffffffffffffLL); }
