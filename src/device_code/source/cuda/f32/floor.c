// needs:
TK_FN tk_f32 tk_floor_f32(tk_f32 x) { return floorf(x); }
