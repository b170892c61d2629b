// needs:
TK_FN tk_f32 tk_trunc_f32(tk_f32 x) { return truncf(x); }
