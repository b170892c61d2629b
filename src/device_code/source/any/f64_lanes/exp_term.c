// needs: exp_TYPE
TK_FN TK_T tk_exp_term_TYPE(TK_T x) { return tk_exp_TYPE(x); }
