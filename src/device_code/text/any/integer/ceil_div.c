// needs:
/* Of index arithmetic: rounds up; y > 0. */
TK_FN TK_T tk_ceil_div_TYPE(TK_T x, TK_T y) { return x / y + (x % y > 0); }
