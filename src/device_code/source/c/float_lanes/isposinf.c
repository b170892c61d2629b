// needs: basics_TYPE
TK_FN TK_M tk_isposinf_TYPE(TK_T x) { return x == tk_infinity_TYPE(); }
