// needs: basics_f32 ex2_approx_f32
/* 2^(x / log 2 - n) 2^n with n the whole number below x / log 2: there, from 0 to 1, ex2.approx is within 1.4 ulp (below 0 it is not). n is kept in
   [-126, 127] by a saturated product, which holds all of that in [0, 1] (and makes 0 of NaN), so that 2^n is a number; what is out of range is left to
   the other factor. The product is rounded only where it is subnormal. */
TK_FN tk_f32 tk_exp_f32(tk_f32 x) {
  const tk_f32 place = __saturatef(tk_fma_f32(x, 0.00570235215f, 0.496047437f));
  const tk_f32 shifted = tk_fma_f32(place, 253.0f, 12582913.0f);
  const tk_f32 n = shifted - 12583039.0f;
  tk_f32 rest = tk_fma_f32(x, 1.44269502f, -n);
  rest = tk_fma_f32(x, 1.92596299e-8f, rest);
  return tk_ex2_approx_f32(rest) * tk_from_bits_f32(tk_bits_f32(shifted) << 23);
}
