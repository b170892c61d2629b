// needs: basics_TYPE to_odd_f64xLANES
TK_FN tk_f32xLANES tk_to_odd_TYPE(TK_T x) {
  const tk_i64xLANES wide = __builtin_convertvector(x, tk_i64xLANES);
  const tk_i64xLANES cut = (wide & ~0x7ffLL) | (((wide & 0x7ff) != 0) & 0x800);
  const tk_i64xLANES is_exact = (wide >= -(1LL << 53)) & (wide <= (1LL << 53));
  return tk_to_odd_f64xLANES(__builtin_convertvector((wide & is_exact) | (cut & ~is_exact), tk_f64xLANES));
}
