// needs: from_f16_bits_TYPE
TK_FN TK_T tk_from_f16_TYPE(TK_H x) { return tk_from_f16_bits_TYPE(x); }
