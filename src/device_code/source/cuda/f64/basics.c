// needs:
// The words that f64 functions are written in.
TK_FN tk_i64 tk_bits_f64(tk_f64 x) { return __double_as_longlong(x); }
TK_FN tk_f64 tk_from_bits_f64(tk_i64 bits) { return __longlong_as_double(bits); }
TK_FN tk_f64 tk_fma_f64(tk_f64 x, tk_f64 y, tk_f64 z) { return __fma_rn(x, y, z); }
TK_FN tk_f64 tk_horner_f64(tk_f64 p, tk_f64 x, tk_f64 c) { return __fma_rn(p, x, c); }
TK_FN tk_f64 tk_infinity_f64() { return __longlong_as_double(0x7ff0000000000000LL); }
TK_FN tk_f64 tk_nan_f64() { return __longlong_as_double(0x7ff8000000000000LL); }
TK_FN tk_u64 tk_multiply_high_f64(tk_u64 x, tk_u64 y) { return __umul64hi(x, y); }
TK_FN tk_i32 tk_leading_zeros_f64(tk_u64 x) { return __clzll((tk_i64)x); }
TK_FN tk_f64 tk_splat_f64(tk_f64 x) { return x; }
TK_FN tk_f64 tk_select_f64(tk_i32 condition, tk_f64 x, tk_f64 y) { return condition ? x : y; }
