// needs: basics_TYPE
TK_FN TK_M tk_isreal_TYPE(TK_T x) { return (x == x) | (x != x); }
