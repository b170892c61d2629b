// needs: basics_TYPE
/* Truncates, saturates; NaN gives 0. What truncates to 0 is replaced by 0, as for one lane. */
TK_FN tk_i32xLANES tk_to_i32_TYPE(TK_T x) {
  const TK_M is_inside = ((x >= 1) | (x <= -1)) & (x > -2147483649.0) & (x < 2147483648.0);
  const tk_i32xLANES inside = __builtin_convertvector(tk_select_TYPE(is_inside, x, tk_splat_TYPE(0)), tk_i32xLANES);
  const tk_i32xLANES above = __builtin_convertvector(x >= 2147483648.0, tk_i32xLANES);
  const tk_i32xLANES below = __builtin_convertvector(x <= -2147483649.0, tk_i32xLANES);
  return inside | (above & 0x7fffffff) | (below & (-0x7fffffff - 1));
}
