// needs: log_pair_TYPE log_special_TYPE exp_parts_TYPE pow_special_TYPE abs_TYPE
TK_FN TK_T tk_pow_TYPE(TK_T x, TK_T y) {
  TK_T low, a, b;
  const TK_T magnitude = tk_abs_TYPE(x);
  const TK_T high = tk_log_special_TYPE(magnitude, tk_log_pair_TYPE(magnitude, &low));
  const TK_T product = y * high;
  const TK_T rest = tk_fma_TYPE(y, high, -product) + y * low;
  const TK_M is_inside = (product > -746.0) & (product < 710.0);
  TK_T inside = tk_select_TYPE(product > 710.0, tk_splat_TYPE(710.0), product);
  inside = tk_select_TYPE(inside < -746.0, tk_splat_TYPE(-746.0), inside);
  const TK_T p = tk_exp_parts_TYPE(inside, tk_select_TYPE(is_inside, rest, tk_splat_TYPE(0.0)), &a, &b);
  return tk_pow_special_TYPE(x, y, p * a * b);
}
