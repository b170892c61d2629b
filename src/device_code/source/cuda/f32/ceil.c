// needs:
TK_FN tk_f32 tk_ceil_f32(tk_f32 x) { return ceilf(x); }
