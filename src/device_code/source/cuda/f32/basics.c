// needs:
// The words that f32 functions are written in.
TK_FN tk_i32 tk_bits_f32(tk_f32 x) { return __float_as_int(x); }
TK_FN tk_f32 tk_from_bits_f32(tk_i32 bits) { return __int_as_float(bits); }
TK_FN tk_f32 tk_splat_f32(tk_f32 x) { return x; }
TK_FN tk_f32 tk_convert_f32(tk_i32 x) { return (tk_f32)x; }
TK_FN tk_f32 tk_select_f32(tk_i32 condition, tk_f32 x, tk_f32 y) { return condition ? x : y; }
TK_FN tk_i32 tk_choose_f32(tk_i32 condition, tk_i32 x, tk_i32 y) { return condition ? x : y; }
TK_FN tk_u32 tk_widen_f32(tk_u16 x) { return x; }
TK_FN tk_u16 tk_narrow_f32(tk_u32 x) { return (tk_u16)x; }
TK_FN tk_f32 tk_infinity_f32(void) { return tk_from_bits_f32(0x7f800000); }
TK_FN tk_f32 tk_nan_f32(void) { return tk_from_bits_f32(0x7fc00000); }
TK_FN tk_f32 tk_fma_f32(tk_f32 x, tk_f32 y, tk_f32 z) { return __fmaf_rn(x, y, z); }
TK_FN tk_f32 tk_horner_f32(tk_f32 p, tk_f32 x, tk_f32 c) { return __fmaf_rn(p, x, c); }
