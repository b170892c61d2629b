// needs:
// LANES elements of each type side by side.
typedef signed char tk_i8xLANES __attribute__((vector_size(LANES)));
typedef unsigned char tk_u8xLANES __attribute__((vector_size(LANES)));
typedef short tk_i16xLANES __attribute__((vector_size(LANES * 2)));
typedef tk_u16 tk_u16xLANES __attribute__((vector_size(LANES * 2)));
typedef tk_f32 tk_f32xLANES __attribute__((vector_size(LANES * 4)));
typedef tk_i32 tk_i32xLANES __attribute__((vector_size(LANES * 4)));
typedef tk_u32 tk_u32xLANES __attribute__((vector_size(LANES * 4)));
typedef tk_f64 tk_f64xLANES __attribute__((vector_size(LANES * 8)));
typedef tk_i64 tk_i64xLANES __attribute__((vector_size(LANES * 8)));
typedef tk_u64 tk_u64xLANES __attribute__((vector_size(LANES * 8)));
