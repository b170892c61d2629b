// needs: basics_TYPE
TK_FN TK_T tk_where_TYPE(TK_M condition, TK_T x, TK_T y) { return tk_select_TYPE(condition, x, y); }
