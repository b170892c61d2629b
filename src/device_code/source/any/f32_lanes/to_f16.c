// needs: to_f16_bits_TYPE
TK_FN TK_H tk_to_f16_TYPE(TK_T x) { return tk_to_f16_bits_TYPE(x); }
