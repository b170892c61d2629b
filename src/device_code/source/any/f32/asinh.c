// needs: asinh_f64
TK_FN tk_f32 tk_asinh_f32(tk_f32 x) { return (tk_f32)tk_asinh_f64(x); }
