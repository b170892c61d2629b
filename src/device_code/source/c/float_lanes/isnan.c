// needs: basics_TYPE
TK_FN TK_M tk_isnan_TYPE(TK_T x) { return x != x; }
