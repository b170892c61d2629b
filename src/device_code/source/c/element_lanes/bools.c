// needs:
/* Bools in memory, bytes of 0 and 1, are masks with lanes of another width in registers. gcc makes an instruction per lane of a conversion by more than
   a factor of two, and several of what is one. */
typedef tk_i8xLANES tk_near_bools_TYPE __attribute__((aligned(1), may_alias));
TK_FN TK_T tk_widen_bools_TYPE(tk_i8xLANES x) {
#if defined(__AVX512F__) && defined(__AVX512VL__) && !defined(__clang__)
  typedef char b16 __attribute__((vector_size(16)));
  typedef tk_i64 l2 __attribute__((vector_size(16)));
  /* Eight bytes by a register of integers: a union of 16 would be stored and loaded. */
  union { tk_i8xLANES lanes; tk_i64 bits; } half = {x};
  const b16 eight = (b16)(l2){half.bits, 0};
  if (LANES == 16 && sizeof(TK_E) == 4) {
    typedef tk_i32 w16 __attribute__((vector_size(64)));
    union { tk_i8xLANES lanes; b16 v; } a = {x};
    union { w16 v; TK_T lanes; } b;
    b.v = __builtin_ia32_pmovsxbd512_mask(a.v, (w16){0}, (unsigned short)-1);
    return b.lanes;
  }
  if (LANES == 8 && sizeof(TK_E) == 4) {
    typedef tk_i32 w8 __attribute__((vector_size(32)));
    union { w8 v; TK_T lanes; } b;
    b.v = __builtin_ia32_pmovsxbd256_mask(eight, (w8){0}, (unsigned char)-1);
    __asm__("" : "+v"(b.v)); /* gcc 12 joins it to a mask behind it, and then "could not split insn" */
    return b.lanes;
  }
  if (LANES == 8 && sizeof(TK_E) == 8) {
    typedef tk_i64 l8 __attribute__((vector_size(64)));
    union { l8 v; TK_T lanes; } b;
    b.v = __builtin_ia32_pmovsxbq512_mask(eight, (l8){0}, (unsigned char)-1);
    __asm__("" : "+v"(b.v)); /* the same */
    return b.lanes;
  }
#endif
  if (sizeof(TK_E) == 1) return __builtin_convertvector(x, TK_T);
  const tk_i16xLANES shorts = __builtin_convertvector(x, tk_i16xLANES);
  if (sizeof(TK_E) == 4) return __builtin_convertvector(shorts, TK_T);
  return __builtin_convertvector(__builtin_convertvector(shorts, tk_i32xLANES), TK_T);
}
TK_FN tk_i8xLANES tk_narrow_bools_TYPE(TK_T x) {
#if defined(__AVX512F__) && defined(__AVX512VL__) && !defined(__clang__)
  typedef char b16 __attribute__((vector_size(16)));
  typedef tk_i64 l2 __attribute__((vector_size(16)));
  if (LANES == 16 && sizeof(TK_E) == 4) {
    typedef tk_i32 w16 __attribute__((vector_size(64)));
    union { TK_T lanes; w16 v; } a = {x};
    union { b16 v; tk_i8xLANES lanes; } b;
    b.v = __builtin_ia32_pmovdb512_mask(a.v, (b16){0}, (unsigned short)-1);
    return b.lanes;
  }
  if (LANES == 8 && sizeof(TK_E) == 4) {
    typedef tk_i32 w8 __attribute__((vector_size(32)));
    union { TK_T lanes; w8 v; } a = {x};
    union { tk_i64 bits; tk_i8xLANES lanes; } half;
    half.bits = ((l2)__builtin_ia32_pmovdb256_mask(a.v, (b16){0}, (unsigned char)-1))[0];
    return half.lanes;
  }
  if (LANES == 8 && sizeof(TK_E) == 8) {
    typedef tk_i64 l8 __attribute__((vector_size(64)));
    union { TK_T lanes; l8 v; } a = {x};
    union { tk_i64 bits; tk_i8xLANES lanes; } half;
    half.bits = ((l2)__builtin_ia32_pmovqb512_mask(a.v, (b16){0}, (unsigned char)-1))[0];
    return half.lanes;
  }
#endif
  if (sizeof(TK_E) == 1) return __builtin_convertvector(x, tk_i8xLANES);
  if (sizeof(TK_E) == 4)
    return __builtin_convertvector(__builtin_convertvector(x, tk_i16xLANES), tk_i8xLANES);
  const tk_i32xLANES words = __builtin_convertvector(x, tk_i32xLANES);
  return __builtin_convertvector(__builtin_convertvector(words, tk_i16xLANES), tk_i8xLANES);
}
TK_FN TK_T tk_load_bool_TYPE(const tk_bool *at) { return -tk_widen_bools_TYPE(*(const tk_near_bools_TYPE *)at); }
TK_FN void tk_store_bool_TYPE(tk_bool *at, TK_T mask) { *(tk_near_bools_TYPE *)at = tk_narrow_bools_TYPE(mask) & 1; }
TK_FN TK_T tk_splat_bool_TYPE(tk_i32 x) { return (TK_T){0} - (TK_E)(x != 0); }
