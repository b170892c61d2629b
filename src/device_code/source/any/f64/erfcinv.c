// needs: log_f64 log1p_f64 exp_f64 erfinv_small_f64 erfc_f64 sqrt_f64 basics_f64
/* Where erfc is subnormal it has too few bits to be iterated: Newton steps on its logarithm, by the asymptotic series
   erfc(y) = exp(-y^2) / (y sqrt(pi)) * (1 - 1/t + 3/t^2 - 15/t^3 + ...), t = 2 y^2. */
TK_SLOW tk_f64 tk_erfcinv_of_subnormal_f64(tk_f64 x) {
  const tk_f64 logarithm = tk_log_f64(x) + 0.57236494292470008;
  tk_f64 y = 26.5;
  for (tk_i32 i = 0; i < 5; ++i) {
    const tk_f64 t = 2.0 * y * y;
    tk_f64 series = 0;
    for (tk_i32 k = 6; k > 0; --k) series = -(2 * k - 1) / t * (1.0 + series);
    const tk_f64 error = y * y + tk_log_f64(y) - tk_log1p_f64(series) + logarithm;
    y -= error / (2.0 * y + 1.0 / y);
  }
  return y;
}
TK_SLOW tk_f64 tk_erfcinv_f64(tk_f64 x) {
  if (!(x >= 0.0 && x <= 2.0)) return tk_nan_f64();
  const tk_f64 near = x > 1.0 ? 2.0 - x : x;
  tk_f64 y;
  if (near == 0.0) {
    y = tk_infinity_f64();
  } else if (near >= 0.5) {
    return tk_erfinv_small_f64(1.0 - x);
  } else if (near < 1e-300) {
    y = tk_erfcinv_of_subnormal_f64(near);
  } else {
    y = tk_sqrt_f64(-tk_log_f64(near));
    for (tk_i32 i = 0; i < 4; ++i) {
      const tk_f64 square = -tk_log_f64(near * y * 1.7724538509055161);
      y = tk_sqrt_f64(square > 0.1 ? square : 0.1);
    }
    for (tk_i32 i = 0; i < 4; ++i) {
      const tk_f64 error = (tk_erfc_f64(y) - near) / (-1.1283791670955126 * tk_exp_f64(-y * y));
      y -= error / (1.0 + y * error);
    }
  }
  return x > 1.0 ? -y : y;
}
