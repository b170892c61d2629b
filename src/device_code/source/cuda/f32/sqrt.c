// needs:
TK_FN tk_f32 tk_sqrt_f32(tk_f32 x) { return __fsqrt_rn(x); }
