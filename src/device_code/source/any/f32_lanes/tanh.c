// needs: expm1_parts_TYPE abs_TYPE copysign_TYPE limits_TYPE
/* (e^2|x| - 1) / (e^2|x| + 1) */
TK_FN TK_T tk_tanh_TYPE(TK_T x) {
  TK_T t;
  const TK_T magnitude = tk_abs_TYPE(x);
  const TK_T inside = tk_at_most_TYPE(magnitude, 10.0f);
  const TK_T p = tk_expm1_parts_TYPE(2.0f * inside, &t);
  t = 2.0f * t;
  const TK_T e = tk_fma_TYPE(t, p, t - 1.0f);
  return tk_copysign_TYPE(e / (e + 2.0f), x);
}
