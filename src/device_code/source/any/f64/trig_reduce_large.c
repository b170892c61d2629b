// needs: basics_f64
/* The bits of 2/pi after the point, 64 zeros before them. */
TK_TABLE tk_u64 tk_two_over_pi[] = {
  0, 0xa2f9836e4e441529ULL, 0xfc2757d1f534ddc0ULL, 0xdb6295993c439041ULL, 0xfe5163abdebbc561ULL, 0xb7246e3a424dd2e0ULL,
  0x06492eea09d1921cULL, 0xfe1deb1cb129a73eULL, 0xe88235f52ebb4484ULL, 0xe99c7026b45f7e41ULL, 0x3991d639835339f4ULL,
  0x9c845f8bbdf9283bULL, 0x1ff897ffde05980fULL, 0xef2f118b5a0a6d1fULL, 0x6d367ecf27cb09b7ULL, 0x4f463f669e5fea2dULL,
  0x7527bac7ebe5f17bULL, 0x3d0739f78a5292eaULL, 0x6bfb5fb11f8d5d08ULL, 0x56033046fc7b6babULL, 0xf0cfbc209af4361dULL,
};
TK_FN tk_u64 tk_two_over_pi_from(tk_i32 bit) {
  const tk_i32 word = bit >> 6, shift = bit & 63;
  const tk_u64 first = tk_two_over_pi[word];
  return shift == 0 ? first : first << shift | tk_two_over_pi[word + 1] >> (64 - shift);
}
/* For 2^40 <= x < inf: x mod pi/2 as a sum, and the quadrant; by an integer product with 192 bits of 2/pi. */
TK_SLOW tk_f64 tk_trig_reduce_large_f64(tk_f64 x, tk_f64 *low, tk_i32 *quadrant) {
  const tk_i64 bits = tk_bits_f64(x);
  const tk_u64 m = (tk_u64)((bits & 0xfffffffffffffLL) | 0x10000000000000LL);
  /* x = m 2^e. Bits of 2/pi above 2^(2 - e) give multiples of 4. */
  const tk_i32 first = (tk_i32)(bits >> 52) - 1075 - 2 + 64;
  const tk_u64 g2 = tk_two_over_pi_from(first), g1 = tk_two_over_pi_from(first + 64), g0 = tk_two_over_pi_from(first + 128);
  const tk_u64 p0 = m * g0, middle = m * g1;
  const tk_u64 p1 = middle + tk_multiply_high_f64(m, g0);
  const tk_u64 p2 = m * g2 + tk_multiply_high_f64(m, g1) + (p1 < middle ? 1 : 0);
  /* Two bits of quadrant, then the fraction; above one half it is taken from the next quadrant. */
  tk_i32 turns = (tk_i32)(p2 >> 62);
  tk_u64 f1 = p2 << 2 | p1 >> 62, f0 = p1 << 2 | p0 >> 62;
  const tk_i32 is_negative = f1 >> 63 != 0;
  if (is_negative) {
    f1 = ~f1 + (f0 == 0 ? 1 : 0);
    f0 = 0 - f0;
    turns += 1;
  }
  *quadrant = turns & 3;
  /* No f64 is closer to a multiple of pi/2 than 2^-62: f1 is not zero. */
  const tk_i32 zeros = f1 == 0 ? 63 : tk_leading_zeros_f64(f1);
  f1 = zeros == 0 ? f1 : f1 << zeros | f0 >> (64 - zeros);
  f0 = f0 << zeros;
  const tk_f64 scale = tk_from_bits_f64((tk_i64)(1023 - 64 - zeros) << 52);
  const tk_f64 high_part = (tk_f64)(f1 & ~0x7ffULL) * scale;
  const tk_f64 low_part = (tk_f64)((f1 & 0x7ff) << 53 | f0 >> 11) * 5.4210108624275222e-20 * scale;
  const tk_f64 r = high_part * 1.5707963267948966;
  const tk_f64 rest = tk_fma_f64(high_part, 1.5707963267948966, -r) + tk_fma_f64(high_part, 6.123233995736766e-17, low_part * 1.5707963267948966);
  *low = is_negative ? -rest : rest;
  return is_negative ? -r : r;
}
