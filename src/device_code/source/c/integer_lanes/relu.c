// needs: basics_TYPE
TK_FN TK_T tk_relu_TYPE(TK_T x) { return x & ~(x < 0); }
