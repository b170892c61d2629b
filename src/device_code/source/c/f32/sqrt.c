// needs:
TK_FN tk_f32 tk_sqrt_f32(tk_f32 x) { return __builtin_sqrtf(x); }
