// needs: atan2_f64
TK_FN tk_f32 tk_atan2_f32(tk_f32 y, tk_f32 x) { return (tk_f32)tk_atan2_f64(y, x); }
