// needs: add_TYPE mul_TYPE
TK_FN TK_T tk_addcmul_TYPE(TK_T x, TK_T y, TK_T z, TK_T w) { return tk_add_TYPE(x, tk_mul_TYPE(w, tk_mul_TYPE(y, z))); }
