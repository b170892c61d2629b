// needs: basics_f64 abs_f64 trig_reduce_large_f64
/* |x| - n pi/2 as a sum, and n in the low bits of *quadrant; NaN for an infinite x. */
TK_FN tk_f64 tk_trig_reduce_f64(tk_f64 x, tk_f64 *low, tk_i32 *quadrant) {
  const tk_f64 magnitude = tk_abs_f64(x);
  if (magnitude >= 1099511627776.0 && magnitude < tk_infinity_f64()) return tk_trig_reduce_large_f64(magnitude, low, quadrant);
  const tk_f64 shifted = tk_fma_f64(magnitude, 0.63661977236758138, 6755399441055744.0);
  const tk_f64 n = shifted - 6755399441055744.0;
  *quadrant = (tk_i32)tk_bits_f64(shifted);
  /* pi/2 in three parts. The first difference is exact; the second is kept with what it loses. */
  const tk_f64 part = tk_fma_f64(-n, 1.5707963267948966, magnitude);
  const tk_f64 product = n * 6.123233995736766e-17;
  const tk_f64 product_low = tk_fma_f64(n, 6.123233995736766e-17, -product);
  const tk_f64 difference = part - product, taken = part - difference;
  const tk_f64 lost = (part - (difference + taken)) + (taken - product);
  const tk_f64 rest = lost - product_low + n * 1.4973849048591698e-33;
  const tk_f64 r = difference + rest;
  *low = rest - (r - difference);
  return r;
}
