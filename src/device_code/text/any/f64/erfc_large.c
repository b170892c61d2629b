// needs: exp_parts_f64
/* erfc x for x >= 1/2: exp(-x^2) / (1 + 2x) times a polynomial in (x - 4) / (x + 4). */
TK_FN tk_f64 tk_erfc_large_f64(tk_f64 x) {
  tk_f64 a, b;
  const tk_f64 inside = x > 27.5 ? 27.5 : x;
  const tk_f64 t = (inside - 4.0) / (inside + 4.0);
  tk_f64 q = -9.3732614842390656e-9;
  q = tk_horner_f64(q, t, 7.3924388832256774e-8);
  q = tk_horner_f64(q, t, 5.9184292362261754e-8);
  q = tk_horner_f64(q, t, -7.812508298367186e-7);
  q = tk_horner_f64(q, t, 3.0869493442972295e-7);
  q = tk_horner_f64(q, t, 5.6785262427009359e-6);
  q = tk_horner_f64(q, t, -1.1230607504953482e-5);
  q = tk_horner_f64(q, t, -2.4385502471527227e-5);
  q = tk_horner_f64(q, t, 0.00015062476906931103);
  q = tk_horner_f64(q, t, -0.000199260529627154);
  q = tk_horner_f64(q, t, -0.00075777399084439741);
  q = tk_horner_f64(q, t, 0.0050319706537180721);
  q = tk_horner_f64(q, t, -0.016197733960006656);
  q = tk_horner_f64(q, t, 0.037167515465647095);
  q = tk_horner_f64(q, t, -0.066330365820052195);
  q = tk_horner_f64(q, t, 0.093732835002559842);
  q = tk_horner_f64(q, t, -0.10103906603598639);
  q = tk_horner_f64(q, t, 0.068097054254579237);
  q = tk_horner_f64(q, t, 0.015379652102614768);
  q = tk_horner_f64(q, t, -0.13962111684056161);
  q = tk_horner_f64(q, t, 1.2329951186255526);
  const tk_f64 square = inside * inside, low = tk_fma_f64(inside, inside, -square);
  const tk_f64 p = tk_exp_parts_f64(-square, -low, &a, &b);
  return p * (q / (1.0 + 2.0 * inside)) * a * b;
}
