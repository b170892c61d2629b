// needs:
TK_FN tk_bool tk_isnan_TYPE(TK_T x) { return x != x; }
