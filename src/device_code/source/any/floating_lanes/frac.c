// needs: trunc_TYPE
TK_FN TK_T tk_frac_TYPE(TK_T x) { return x - tk_trunc_TYPE(x); }
