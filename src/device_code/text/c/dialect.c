// needs:
// C11 with the builtins of gcc and clang, no header. Compile with -fno-math-errno -fno-trapping-math -ffp-contract=off.
/* 0 or 1; gcc does not vectorise choices by _Bool. */
typedef unsigned char tk_bool;
typedef float tk_f32;
typedef double tk_f64;
typedef unsigned short tk_f16;
typedef unsigned short tk_bf16;
typedef int tk_i32;
typedef long long tk_i64;
typedef unsigned short tk_u16;
typedef unsigned tk_u32;
typedef unsigned long long tk_u64;
#define TK_FN static inline __attribute__((always_inline, unused))
#define TK_SLOW static __attribute__((noinline, unused))
#define TK_TABLE static const
