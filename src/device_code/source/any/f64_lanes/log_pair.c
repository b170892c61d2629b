// needs: basics_TYPE log_split_TYPE
/* log x to about 2^-66 as a sum, for 0 < x < inf. */
TK_FN TK_T tk_log_pair_TYPE(TK_T x, TK_T *low) {
  TK_T n;
  const TK_T f = tk_log_split_TYPE(x, &n);
  /* s = f / (2 + f) with its rest; then its square and its cube. */
  const TK_T below = 2.0 + f, below_low = f - (below - 2.0);
  const TK_T s = f / below, s_low = (tk_fma_TYPE(-s, below, f) - s * below_low) / below;
  const TK_T z = s * s, z_low = tk_fma_TYPE(s, s, -z) + 2.0 * s * s_low;
  const TK_T cube = z * s, cube_low = tk_fma_TYPE(z, s, -cube) + tk_fma_TYPE(z_low, s, z * s_low);
  TK_T q = tk_splat_TYPE(0.11983426695637255);
  q = tk_horner_TYPE(q, z, 0.11675530065268008);
  q = tk_horner_TYPE(q, z, 0.13336280086387262);
  q = tk_horner_TYPE(q, z, 0.1538455790905042);
  q = tk_horner_TYPE(q, z, 0.18181818853958345);
  q = tk_horner_TYPE(q, z, 0.22222222217680504);
  q = tk_horner_TYPE(q, z, 0.28571428571444468);
  q = tk_horner_TYPE(q, z, 0.3999999999999998);
  /* 2 s + 2/3 s^3 + s^5 q */
  const TK_T third = cube * 0.66666666666666663;
  TK_T rest = tk_fma_TYPE(cube, tk_splat_TYPE(0.66666666666666663), -third);
  rest = rest + tk_fma_TYPE(cube, tk_splat_TYPE(3.7007434154171883e-17), cube_low * 0.66666666666666663);
  rest = tk_fma_TYPE(cube * z, q, rest);
  const TK_T part = 2.0 * s + third;
  rest = rest + (third - (part - 2.0 * s)) + 2.0 * s_low;
  const TK_T power = n * 0.69314718055989033, sum = power + part;
  rest = rest + (part - (sum - power)) + n * 5.4979230187083712e-14;
  const TK_T high = sum + rest;
  *low = rest - (high - sum);
  return high;
}
