// needs:
TK_FN TK_T tk_maximum_TYPE(TK_T x, TK_T y) { return x > y ? x : y; }
