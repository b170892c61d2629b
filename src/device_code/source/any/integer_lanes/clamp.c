// needs: maximum_TYPE minimum_TYPE
TK_FN TK_T tk_clamp_TYPE(TK_T x, TK_T low, TK_T high) { return tk_minimum_TYPE(tk_maximum_TYPE(x, low), high); }
