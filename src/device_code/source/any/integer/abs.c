// needs: neg_TYPE
TK_FN TK_T tk_abs_TYPE(TK_T x) { return x < 0 ? tk_neg_TYPE(x) : x; }
