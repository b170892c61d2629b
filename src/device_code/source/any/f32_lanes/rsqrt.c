// needs: sqrt_TYPE
TK_FN TK_T tk_rsqrt_TYPE(TK_T x) { return 1.0f / tk_sqrt_TYPE(x); }
