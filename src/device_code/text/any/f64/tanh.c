// needs: expm1_f64 abs_f64 copysign_f64
TK_FN tk_f64 tk_tanh_f64(tk_f64 x) {
  const tk_f64 e = tk_expm1_f64(2.0 * (tk_abs_f64(x) > 30.0 ? 30.0 : tk_abs_f64(x)));
  return x != x ? x : tk_copysign_f64(e / (e + 2.0), x);
}
