// needs: log_f64 exp_f64 pow_special_f64 abs_f64
TK_FN tk_f32 tk_pow_f32(tk_f32 x, tk_f32 y) {
  const tk_f64 magnitude = tk_exp_f64((tk_f64)y * tk_log_f64(tk_abs_f64((tk_f64)x)));
  return (tk_f32)tk_pow_special_f64((tk_f64)x, (tk_f64)y, magnitude);
}
