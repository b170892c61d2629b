// needs: atan_f64
TK_FN tk_f32 tk_atan_f32(tk_f32 x) { return (tk_f32)tk_atan_f64(x); }
