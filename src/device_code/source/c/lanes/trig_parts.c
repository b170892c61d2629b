// needs: basics_f32 basics_f64xHALF trig_reduce_f32
/* Sine and cosine of x - n pi/2, and n as an integer, for half of the lanes; each step is that of one lane (trig_reduce, trig_sine, trig_cosine). */
TK_FN void tk_trig_parts_TYPE(tk_f32xHALF x, tk_f64xHALF *sine, tk_f64xHALF *cosine, tk_i64xHALF *quadrant) {
  const tk_i32xHALF bits = (tk_i32xHALF)x;
  const tk_i32xHALF exponent = (bits >> 23) & 255;
  const tk_i32xHALF k = (exponent - 150) & (exponent > 150);
  const tk_f64xHALF m = __builtin_convertvector((tk_f32xHALF)(bits - (k << 23)), tk_f64xHALF);
  tk_f64xHALF turn = {0}, lost = {0};
#pragma GCC unroll 16
  for (int i = 0; i < HALF; ++i) {
    turn[i] = tk_powers_mod_turn[2 * k[i]];
    lost[i] = tk_powers_mod_turn[2 * k[i] + 1];
  }
  const tk_f64xHALF high = m * turn;
  const tk_f64xHALF shifted = tk_fma_f64xHALF(high, tk_splat_f64xHALF(0.63661977236758138), tk_splat_f64xHALF(6755399441055744.0));
  const tk_f64xHALF n = shifted - 6755399441055744.0;
  *quadrant = (tk_i64xHALF)shifted;
  const tk_f64xHALF low = tk_fma_f64xHALF(m, lost, -(n * 6.123233995736766e-17));
  const tk_f64xHALF r = tk_fma_f64xHALF(-n, tk_splat_f64xHALF(1.5707963267948966), high) + low;
  const tk_f64xHALF square = r * r;
  tk_f64xHALF p = tk_splat_f64xHALF(2.7183791552760857e-6);
  p = tk_horner_f64xHALF(p, square, -0.00019839345547131016);
  p = tk_horner_f64xHALF(p, square, 0.0083333294368553284);
  p = tk_horner_f64xHALF(p, square, -0.16666666642338313);
  *sine = r * tk_fma_f64xHALF(square, p, tk_splat_f64xHALF(1.0));
  tk_f64xHALF q = tk_splat_f64xHALF(-2.7205272458049231e-7);
  q = tk_horner_f64xHALF(q, square, 2.4799454266587804e-5);
  q = tk_horner_f64xHALF(q, square, -0.0013888883476920477);
  q = tk_horner_f64xHALF(q, square, 0.041666666619196886);
  *cosine = tk_fma_f64xHALF(square * square, q, tk_fma_f64xHALF(square, tk_splat_f64xHALF(-0.5), tk_splat_f64xHALF(1.0)));
}
