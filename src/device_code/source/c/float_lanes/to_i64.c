// needs: basics_TYPE
/* Truncates, saturates; NaN gives 0. What truncates to 0 is replaced by 0, as for one lane. */
TK_FN tk_i64xLANES tk_to_i64_TYPE(TK_T x) {
  const TK_T limit = tk_splat_TYPE((TK_E)9223372036854775808.0);
  const TK_M is_inside = ((x >= 1) | (x <= -1)) & (x > -limit) & (x < limit);
  const tk_i64xLANES inside = __builtin_convertvector(tk_select_TYPE(is_inside, x, tk_splat_TYPE(0)), tk_i64xLANES);
  const tk_i64xLANES above = __builtin_convertvector(x >= limit, tk_i64xLANES);
  const tk_i64xLANES below = __builtin_convertvector(x <= -limit, tk_i64xLANES);
  return inside | (above & 0x7fffffffffffffffLL) | (below & (-0x7fffffffffffffffLL - 1));
}
