// needs:
// C11 with the builtins of gcc and clang, no header. Compile with -fno-math-errno -fno-trapping-math -ffp-contract=off.
/* 0 or 1; gcc does not vectorise choices by _Bool. */
typedef unsigned char tk_bool;
typedef signed char tk_i8;
typedef float tk_f32;
typedef double tk_f64;
typedef unsigned short tk_f16;
typedef unsigned short tk_bf16;
typedef int tk_i32;
typedef long long tk_i64;
typedef unsigned short tk_u16;
typedef unsigned tk_u32;
typedef unsigned long long tk_u64;
/* Of 32 bits that are multiplied: as wide as the product, which lanes then need not be moved for. */
typedef tk_u64 tk_word;
#define TK_FN static inline __attribute__((always_inline, unused))
#define TK_SLOW static __attribute__((noinline, unused))
#define TK_TABLE static const
/* The upper half of the product of two tk_u32. */
#define TK_HIGH_PRODUCT(a, b) ((tk_u32)((tk_u64)(a) * (b) >> 32))
#define TK_INF_F32 __builtin_inff()
#define TK_INF_F64 __builtin_inf()
#define TK_NAN_F32 __builtin_nanf("")
#define TK_NAN_F64 __builtin_nan("")
