// needs: basics_TYPE
TK_FN TK_T tk_abs_TYPE(TK_T x) { return tk_from_bits_TYPE(tk_bits_TYPE(x) & 0x7fffffffffffffffLL); }
