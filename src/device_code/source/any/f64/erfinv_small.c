// needs: log1p_f64 exp_f64 erf_small_f64 sqrt_f64
/* The inverse of erf for |x| <= 1/2: a start to 1e-3 by inverting erf(y)^2 = 1 - exp(-y^2 (4/pi + a y^2) / (1 + a y^2)), two steps of Halley. */
TK_SLOW tk_f64 tk_erfinv_small_f64(tk_f64 x) {
  if (x > -1e-9 && x < 1e-9) return x * 0.88622692545275801;
  const tk_f64 logarithm = tk_log1p_f64(-x * x), middle = 4.3307467512108185 + 0.5 * logarithm;
  const tk_f64 square = -logarithm / 0.147 / (tk_sqrt_f64(middle * middle - logarithm / 0.147) + middle);
  tk_f64 y = x < 0 ? -tk_sqrt_f64(square) : tk_sqrt_f64(square);
  for (tk_i32 i = 0; i < 2; ++i) {
    const tk_f64 error = (tk_erf_small_f64(y) - x) / (1.1283791670955126 * tk_exp_f64(-y * y));
    y -= error / (1.0 + y * error);
  }
  return y;
}
