// needs: round_magnitude_TYPE abs_TYPE copysign_TYPE
TK_FN TK_T tk_round_TYPE(TK_T x) { return tk_copysign_TYPE(tk_round_magnitude_TYPE(tk_abs_TYPE(x)), x); }
