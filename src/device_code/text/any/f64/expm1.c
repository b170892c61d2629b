// needs: basics_f64 abs_f64
TK_FN tk_f64 tk_expm1_f64(tk_f64 x) {
  tk_f64 inside = x > 710.0 ? 710.0 : x;
  inside = inside < -100.0 ? -100.0 : inside;
  const tk_f64 shifted = tk_fma_f64(inside, 1.4426950408889634, 6755399441055744.0);
  const tk_f64 n = shifted - 6755399441055744.0;
  const tk_u64 k = (tk_u64)tk_bits_f64(shifted) - 0x4338000000000000ULL;
  tk_f64 r = tk_fma_f64(n, -0.69314718055994529, inside);
  r = tk_fma_f64(n, -2.3190468138462996e-17, r);
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
  const tk_f64 p = tk_fma_f64(r * r, q, r);
  /* Half the power of two: e^710 stays in range. */
  const tk_f64 t = tk_from_bits_f64((tk_i64)((k + 1022) << 52));
  const tk_f64 result = 2.0 * tk_fma_f64(t, p, t - 0.5);
  return tk_abs_f64(x) < 1.1102230246251565e-16 ? x : result;
}
