// needs: minimum_TYPE
TK_FN TK_T tk_fmin_TYPE(TK_T x, TK_T y) { return tk_minimum_TYPE(x, y); }
