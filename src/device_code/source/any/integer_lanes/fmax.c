// needs: maximum_TYPE
TK_FN TK_T tk_fmax_TYPE(TK_T x, TK_T y) { return tk_maximum_TYPE(x, y); }
