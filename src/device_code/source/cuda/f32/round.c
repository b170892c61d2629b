// needs:
TK_FN tk_f32 tk_round_f32(tk_f32 x) { return rintf(x); }
