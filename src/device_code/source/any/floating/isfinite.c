// needs: abs_TYPE basics_TYPE
TK_FN tk_bool tk_isfinite_TYPE(TK_T x) { return tk_abs_TYPE(x) < tk_infinity_TYPE(); }
