// needs: to_odd_f64
TK_FN tk_f32 tk_to_odd_TYPE(TK_T x) {
  const tk_i64 wide = x;
  const tk_i64 cut = (wide & ~0x7ffLL) | ((wide & 0x7ff) != 0 ? 0x800 : 0);
  const tk_i32 is_exact = wide >= -(1LL << 53) && wide <= (1LL << 53);
  return tk_to_odd_f64((tk_f64)(is_exact ? wide : cut));
}
