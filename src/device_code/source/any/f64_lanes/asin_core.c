// needs: basics_TYPE
/* (asin s - s) / s for z = s^2, 0 <= s <= 1/2. */
TK_FN TK_T tk_asin_core_TYPE(TK_T z) {
  TK_T q = tk_splat_TYPE(0.033194815870478636);
  q = tk_horner_TYPE(q, z, -0.025359099723057381);
  q = tk_horner_TYPE(q, z, 0.024204946288345082);
  q = tk_horner_TYPE(q, z, 0.00096999026653808587);
  q = tk_horner_TYPE(q, z, 0.0099225640527232234);
  q = tk_horner_TYPE(q, z, 0.0095020798491255356);
  q = tk_horner_TYPE(q, z, 0.011583050062204499);
  q = tk_horner_TYPE(q, z, 0.013962173364913046);
  q = tk_horner_TYPE(q, z, 0.017352923893964013);
  q = tk_horner_TYPE(q, z, 0.022372152639970236);
  q = tk_horner_TYPE(q, z, 0.030381944612085588);
  q = tk_horner_TYPE(q, z, 0.044642857140297552);
  q = tk_horner_TYPE(q, z, 0.075000000000019496);
  q = tk_horner_TYPE(q, z, 0.1666666666666666);
  return z * q;
}
