// needs: basics_TYPE
TK_FN tk_bool tk_isneginf_TYPE(TK_T x) { return x == -tk_infinity_TYPE(); }
