// needs: where_TYPE
TK_FN TK_T tk_threshold_TYPE(TK_T x, TK_T y, TK_T z) { return tk_where_TYPE(x <= y, z, x); }
