// needs: abs_TYPE basics_TYPE
TK_FN TK_M tk_isinf_TYPE(TK_T x) { return tk_abs_TYPE(x) == tk_infinity_TYPE(); }
