// needs: basics_TYPE
/* atan r for 0 <= r <= 1; beyond tan(pi/8) as pi/4 + atan((r - 1) / (r + 1)). */
TK_FN TK_T tk_atan_core_TYPE(TK_T r) {
  const TK_M is_large = r > 0.41421356237309503;
  const TK_T t = tk_select_TYPE(is_large, (r - 1.0) / (r + 1.0), r);
  const TK_T z = t * t;
  TK_T q = tk_splat_TYPE(0.015253719947814132);
  q = tk_horner_TYPE(q, z, -0.033535409143269745);
  q = tk_horner_TYPE(q, z, 0.045063314100747931);
  q = tk_horner_TYPE(q, z, -0.052191358421169932);
  q = tk_horner_TYPE(q, z, 0.058771441501562272);
  q = tk_horner_TYPE(q, z, -0.066662403251763563);
  q = tk_horner_TYPE(q, z, 0.076922837665183416);
  q = tk_horner_TYPE(q, z, -0.090909081940335729);
  q = tk_horner_TYPE(q, z, 0.11111111089725773);
  q = tk_horner_TYPE(q, z, -0.14285714285416615);
  q = tk_horner_TYPE(q, z, 0.19999999999997939);
  q = tk_horner_TYPE(q, z, -0.33333333333333326);
  const TK_T rest = t * z * q;
  return tk_select_TYPE(is_large, 0.78539816339744828 + (t + (rest + 3.061616997868383e-17)), t + rest);
}
