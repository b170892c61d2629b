// needs: basics_TYPE
/* Nearest integer, nearest even, of x >= 0; a NaN stays one. */
TK_FN TK_T tk_round_magnitude_TYPE(TK_T x) { return tk_select_TYPE(x < 4503599627370496.0, (x + 4503599627370496.0) - 4503599627370496.0, x); }
