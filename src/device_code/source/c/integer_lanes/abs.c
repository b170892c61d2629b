// needs: neg_TYPE basics_TYPE
TK_FN TK_T tk_abs_TYPE(TK_T x) { return tk_select_TYPE(x < 0, tk_neg_TYPE(x), x); }
