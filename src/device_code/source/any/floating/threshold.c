// needs:
TK_FN TK_T tk_threshold_TYPE(TK_T x, TK_T y, TK_T z) { return x <= y ? z : x; }
