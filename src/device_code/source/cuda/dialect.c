// needs:
// CUDA C++ for NVRTC, no header. Compile with --fmad=false where results are to equal the CPU's.
typedef bool tk_bool;
typedef float tk_f32;
typedef double tk_f64;
typedef unsigned short tk_f16;
typedef unsigned short tk_bf16;
typedef int tk_i32;
typedef long long tk_i64;
typedef unsigned short tk_u16;
typedef unsigned tk_u32;
typedef unsigned long long tk_u64;
typedef tk_u32 tk_word;
#define TK_FN static __device__ __forceinline__
#define TK_SLOW static __device__ __noinline__
#define TK_TABLE static __device__ const
/* The upper half of the product of two tk_u32; written as a shift, it would be computed in 64 bits. */
#define TK_HIGH_PRODUCT(a, b) __umulhi(a, b)
#define TK_INF_F32 __int_as_float(0x7f800000)
#define TK_INF_F64 __longlong_as_double(0x7ff0000000000000ll)
#define TK_NAN_F32 __int_as_float(0x7fc00000)
#define TK_NAN_F64 __longlong_as_double(0x7ff8000000000000ll)
