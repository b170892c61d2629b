// needs:
TK_FN TK_T tk_relu_TYPE(TK_T x) { return x < 0 ? 0 : x; }
