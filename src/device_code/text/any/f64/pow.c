// needs: log_pair_f64 log_special_f64 exp_parts_f64 pow_special_f64 abs_f64
TK_FN tk_f64 tk_pow_f64(tk_f64 x, tk_f64 y) {
  tk_f64 low, a, b;
  const tk_f64 magnitude = tk_abs_f64(x);
  const tk_f64 high = tk_log_special_f64(magnitude, tk_log_pair_f64(magnitude, &low));
  const tk_f64 product = y * high;
  const tk_f64 rest = tk_fma_f64(y, high, -product) + y * low;
  const tk_i32 is_inside = (product > -746.0) & (product < 710.0);
  tk_f64 inside = product > 710.0 ? 710.0 : product;
  inside = inside < -746.0 ? -746.0 : inside;
  const tk_f64 p = tk_exp_parts_f64(inside, is_inside ? rest : 0.0, &a, &b);
  return tk_pow_special_f64(x, y, p * a * b);
}
