// needs: basics_f64
/* e^(x + low) = p * a * b for x in [-746, 710] and a low far below x: p in [0.7, 1.42], a and b powers of two of about the same
   size. A NaN gives p = NaN. */
TK_FN tk_f64 tk_exp_parts_f64(tk_f64 x, tk_f64 low, tk_f64 *a, tk_f64 *b) {
  const tk_f64 shifted = tk_fma_f64(x, 1.4426950408889634, 6755399441055744.0);
  const tk_f64 n = shifted - 6755399441055744.0;
  const tk_u64 k = (tk_u64)tk_bits_f64(shifted) - 0x4338000000000000ULL;
  tk_f64 r = tk_fma_f64(n, -0.69314718055994529, x);
  r = tk_fma_f64(n, -2.3190468138462996e-17, r) + low;
  tk_f64 q = 2.0864698832191276e-9;
  q = tk_horner_f64(q, r, 2.5109189661613651e-8);
  q = tk_horner_f64(q, r, 2.7557440054075107e-7);
  q = tk_horner_f64(q, r, 2.7557243763415212e-6);
  q = tk_horner_f64(q, r, 2.4801587123837827e-5);
  q = tk_horner_f64(q, r, 0.00019841269886586215);
  q = tk_horner_f64(q, r, 0.0013888888888990913);
  q = tk_horner_f64(q, r, 0.0083333333333214347);
  q = tk_horner_f64(q, r, 0.041666666666666435);
  q = tk_horner_f64(q, r, 0.16666666666666677);
  q = tk_horner_f64(q, r, 0.5);
  /* Half of k, which may be negative; shifted without a sign, which compilers vectorise. */
  const tk_u64 half = ((k + 4096) >> 1) - 2048;
  *a = tk_from_bits_f64((tk_i64)((half + 1023) << 52));
  *b = tk_from_bits_f64((tk_i64)((k - half + 1023) << 52));
  return 1.0 + tk_fma_f64(r * r, q, r);
}
