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
#define TK_FN static __device__ __forceinline__
#define TK_SLOW static __device__ __noinline__
#define TK_TABLE static __device__ const
