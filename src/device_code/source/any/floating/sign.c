// needs:
TK_FN TK_T tk_sign_TYPE(TK_T x) { return x != x ? x : (TK_T)((0 < x) - (x < 0)); }
