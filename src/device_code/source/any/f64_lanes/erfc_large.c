// needs: exp_parts_TYPE
/* erfc x for x >= 1/2: exp(-x^2) / (1 + 2x) times a polynomial in (x - 4) / (x + 4). */
TK_FN TK_T tk_erfc_large_TYPE(TK_T x) {
  TK_T a, b;
  const TK_T inside = tk_select_TYPE(x > 27.5, tk_splat_TYPE(27.5), x);
  const TK_T t = (inside - 4.0) / (inside + 4.0);
  TK_T q = tk_splat_TYPE(-9.3732614842390656e-9);
  q = tk_horner_TYPE(q, t, 7.3924388832256774e-8);
  q = tk_horner_TYPE(q, t, 5.9184292362261754e-8);
  q = tk_horner_TYPE(q, t, -7.812508298367186e-7);
  q = tk_horner_TYPE(q, t, 3.0869493442972295e-7);
  q = tk_horner_TYPE(q, t, 5.6785262427009359e-6);
  q = tk_horner_TYPE(q, t, -1.1230607504953482e-5);
  q = tk_horner_TYPE(q, t, -2.4385502471527227e-5);
  q = tk_horner_TYPE(q, t, 0.00015062476906931103);
  q = tk_horner_TYPE(q, t, -0.000199260529627154);
  q = tk_horner_TYPE(q, t, -0.00075777399084439741);
  q = tk_horner_TYPE(q, t, 0.0050319706537180721);
  q = tk_horner_TYPE(q, t, -0.016197733960006656);
  q = tk_horner_TYPE(q, t, 0.037167515465647095);
  q = tk_horner_TYPE(q, t, -0.066330365820052195);
  q = tk_horner_TYPE(q, t, 0.093732835002559842);
  q = tk_horner_TYPE(q, t, -0.10103906603598639);
  q = tk_horner_TYPE(q, t, 0.068097054254579237);
  q = tk_horner_TYPE(q, t, 0.015379652102614768);
  q = tk_horner_TYPE(q, t, -0.13962111684056161);
  q = tk_horner_TYPE(q, t, 1.2329951186255526);
  const TK_T square = inside * inside, low = tk_fma_TYPE(inside, inside, -square);
  const TK_T p = tk_exp_parts_TYPE(-square, -low, &a, &b);
  return p * (q / (1.0 + 2.0 * inside)) * a * b;
}
