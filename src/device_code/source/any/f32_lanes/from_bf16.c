// needs: basics_TYPE
TK_FN TK_T tk_from_bf16_TYPE(TK_H x) { return tk_from_bits_TYPE((TK_I)(tk_widen_TYPE(x) << 16)); }
