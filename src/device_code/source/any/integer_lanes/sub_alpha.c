// needs: sub_TYPE mul_TYPE
TK_FN TK_T tk_sub_alpha_TYPE(TK_T x, TK_T y, TK_T z) { return tk_sub_TYPE(x, tk_mul_TYPE(y, z)); }
