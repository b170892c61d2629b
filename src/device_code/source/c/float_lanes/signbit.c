// needs: basics_TYPE
TK_FN TK_M tk_signbit_TYPE(TK_T x) { return tk_bits_TYPE(x) < 0; }
