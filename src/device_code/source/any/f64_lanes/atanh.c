// needs: log1p_TYPE abs_TYPE copysign_TYPE
TK_FN TK_T tk_atanh_TYPE(TK_T x) {
  const TK_T magnitude = tk_abs_TYPE(x);
  /* Below 1/2, 2m + 2m^2 / (1 - m) is nearer to the argument than 2m / (1 - m) is. */
  const TK_T twice = 2.0 * magnitude;
  const TK_T argument = tk_select_TYPE(magnitude < 0.5, twice + twice * magnitude / (1.0 - magnitude), twice / (1.0 - magnitude));
  const TK_T value = tk_select_TYPE(magnitude < 1e-8, magnitude, 0.5 * tk_log1p_TYPE(argument));
  return tk_copysign_TYPE(value, x);
}
