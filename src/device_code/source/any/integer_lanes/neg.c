// needs:
TK_FN TK_T tk_neg_TYPE(TK_T x) { return (TK_T)(0 - (TK_U)x); }
