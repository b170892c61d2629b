// needs: add_TYPE mul_TYPE
TK_FN TK_T tk_add_alpha_TYPE(TK_T x, TK_T y, TK_T z) { return tk_add_TYPE(x, tk_mul_TYPE(y, z)); }
