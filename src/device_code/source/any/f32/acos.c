// needs: acos_f64
TK_FN tk_f32 tk_acos_f32(tk_f32 x) { return (tk_f32)tk_acos_f64(x); }
