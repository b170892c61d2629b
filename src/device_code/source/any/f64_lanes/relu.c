// needs: basics_TYPE
TK_FN TK_T tk_relu_TYPE(TK_T x) { return tk_select_TYPE(x < 0, tk_splat_TYPE(0.0), x); }
