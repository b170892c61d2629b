// needs: basics_TYPE
TK_FN TK_T tk_sign_TYPE(TK_T x) { return (x < 0) - (x > 0); }
