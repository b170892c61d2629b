// needs:
TK_FN tk_f32 tk_copysign_f32(tk_f32 x, tk_f32 y) { return copysignf(x, y); }
