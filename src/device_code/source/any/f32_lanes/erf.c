// needs: exp_parts_TYPE abs_TYPE copysign_TYPE limits_TYPE
TK_FN TK_T tk_erf_TYPE(TK_T x) {
  TK_T a, b;
  const TK_T magnitude = tk_abs_TYPE(x);
  const TK_T square = x * x;
  TK_T small = tk_splat_TYPE(7.91385974e-5f);
  small = tk_horner_TYPE(small, square, -0.000802905415f);
  small = tk_horner_TYPE(small, square, 0.00519057596f);
  small = tk_horner_TYPE(small, square, -0.0268550664f);
  small = tk_horner_TYPE(small, square, 0.112836175f);
  small = tk_horner_TYPE(small, square, -0.376126289f);
  small = tk_horner_TYPE(small, square, 0.128379166f);
  const TK_T inside = tk_at_most_TYPE(magnitude, 4.0f);
  TK_T large = tk_splat_TYPE(-3.47786397e-7f);
  large = tk_horner_TYPE(large, inside, 2.66465286e-5f);
  large = tk_horner_TYPE(large, inside, -0.000471670122f);
  large = tk_horner_TYPE(large, inside, 0.00430851243f);
  large = tk_horner_TYPE(large, inside, -0.025426643f);
  large = tk_horner_TYPE(large, inside, 0.10870672f);
  large = tk_horner_TYPE(large, inside, 0.632986605f);
  large = tk_horner_TYPE(large, inside, 1.12968445f);
  large = tk_horner_TYPE(large, inside, -0.000208761849f);
  const TK_T t = tk_exp_parts_below_TYPE(-large, &a, &b);
  const TK_T outer = tk_copysign_TYPE(1.0f - tk_scale_TYPE(1.0f + t, a, b), x);
  return tk_select_TYPE(magnitude < 1.0f, tk_fma_TYPE(x, small, x), outer);
}
