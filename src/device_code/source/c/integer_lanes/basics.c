// needs: vectors_xLANES
// The words that functions of integers are written in, for LANES lanes at once. A condition is a mask: all bits set, or none.
TK_FN TK_T tk_splat_TYPE(TK_E x) { return x - (TK_T){0}; }
TK_FN TK_T tk_select_TYPE(TK_T mask, TK_T x, TK_T y) { return (x & mask) | (y & ~mask); }
