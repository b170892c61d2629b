// needs:
/* Not by its bits: as a function it costs nothing, operands of instructions take |x|. */
TK_FN tk_f32 tk_abs_f32(tk_f32 x) { return fabsf(x); }
