// needs: basics_f64 log_split_f64
/* log x to about 2^-66 as a sum, for 0 < x < inf. */
TK_FN tk_f64 tk_log_pair_f64(tk_f64 x, tk_f64 *low) {
  tk_f64 n;
  const tk_f64 f = tk_log_split_f64(x, &n);
  /* s = f / (2 + f) with its rest; then its square and its cube. */
  const tk_f64 below = 2.0 + f, below_low = f - (below - 2.0);
  const tk_f64 s = f / below, s_low = (tk_fma_f64(-s, below, f) - s * below_low) / below;
  const tk_f64 z = s * s, z_low = tk_fma_f64(s, s, -z) + 2.0 * s * s_low;
  const tk_f64 cube = z * s, cube_low = tk_fma_f64(z, s, -cube) + tk_fma_f64(z_low, s, z * s_low);
  tk_f64 q = 0.11983426695637255;
  q = tk_horner_f64(q, z, 0.11675530065268008);
  q = tk_horner_f64(q, z, 0.13336280086387262);
  q = tk_horner_f64(q, z, 0.1538455790905042);
  q = tk_horner_f64(q, z, 0.18181818853958345);
  q = tk_horner_f64(q, z, 0.22222222217680504);
  q = tk_horner_f64(q, z, 0.28571428571444468);
  q = tk_horner_f64(q, z, 0.3999999999999998);
  /* 2 s + 2/3 s^3 + s^5 q */
  const tk_f64 third = cube * 0.66666666666666663;
  tk_f64 rest = tk_fma_f64(cube, 0.66666666666666663, -third);
  rest = rest + tk_fma_f64(cube, 3.7007434154171883e-17, cube_low * 0.66666666666666663);
  rest = tk_fma_f64(cube * z, q, rest);
  const tk_f64 part = 2.0 * s + third;
  rest = rest + (third - (part - 2.0 * s)) + 2.0 * s_low;
  const tk_f64 power = n * 0.69314718055989033, sum = power + part;
  rest = rest + (part - (sum - power)) + n * 5.4979230187083712e-14;
  const tk_f64 high = sum + rest;
  *low = rest - (high - sum);
  return high;
}
