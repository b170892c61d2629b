// needs:
TK_FN TK_T tk_mul_TYPE(TK_T x, TK_T y) { return (TK_T)((TK_U)x * (TK_U)y); }
