// needs:
/* Nearest integer, nearest even, of x >= 0; a NaN stays one. */
TK_FN tk_f64 tk_round_magnitude_f64(tk_f64 x) { return x < 4503599627370496.0 ? (x + 4503599627370496.0) - 4503599627370496.0 : x; }
