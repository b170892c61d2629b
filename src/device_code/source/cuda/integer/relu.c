// needs: maximum_TYPE
TK_FN TK_T tk_relu_TYPE(TK_T x) { return tk_maximum_TYPE(x, 0); }
