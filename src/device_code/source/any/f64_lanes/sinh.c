// needs: expm1_TYPE exp_parts_TYPE abs_TYPE copysign_TYPE
TK_FN TK_T tk_sinh_TYPE(TK_T x) {
  TK_T a, b;
  const TK_T magnitude = tk_abs_TYPE(x);
  const TK_T e = tk_expm1_TYPE(tk_select_TYPE(magnitude > 30.0, tk_splat_TYPE(30.0), magnitude));
  const TK_T p = tk_exp_parts_TYPE(tk_select_TYPE(magnitude > 720.0, tk_splat_TYPE(720.0), magnitude), tk_splat_TYPE(0.0), &a, &b);
  /* Tiny x gives itself: half of a subnormal would lose a bit. */
  const TK_T small = tk_select_TYPE(magnitude < 1e-8, magnitude, 0.5 * (e + e / (e + 1.0)));
  return tk_copysign_TYPE(tk_select_TYPE(magnitude < 30.0, small, p * (0.5 * a) * b), x);
}
