// needs: log_f64 basics_f64
/* log gamma(x) for x > 0. */
TK_SLOW tk_f64 tk_lgamma_positive_f64(tk_f64 x) {
  if (x >= 8.0) {
    if (x > 1e306) return x * tk_log_f64(x);
    const tk_f64 w = 1.0 / (x * x);
    tk_f64 q = -0.020436697651987749;
    q = tk_horner_f64(q, w, 0.0061835372629992121);
    q = tk_horner_f64(q, w, -0.0019143882214880811);
    q = tk_horner_f64(q, w, 0.00084172561546026325);
    q = tk_horner_f64(q, w, -0.00059523797912674093);
    q = tk_horner_f64(q, w, 0.00079365079336585654);
    q = tk_horner_f64(q, w, -0.0027777777777774626);
    q = tk_horner_f64(q, w, 0.083333333333333329);
    return tk_fma_f64(x - 0.5, tk_log_f64(x) - 1.0, 0.41893853320467278 + q / x);
  }
  /* Into [1, 3) by gamma(x + 1) = x gamma(x). Below 1, z = (x + 1) - 2 is exact where it matters. */
  tk_f64 shift = 0.0, z = x - 2.0;
  if (x < 1.0) {
    z = x - 1.0;
    shift = -tk_log_f64(x);
  } else if (x >= 3.0) {
    tk_f64 product = 1.0;
    for (; x >= 3.0; product *= x) x -= 1.0;
    z = x - 2.0;
    shift = tk_log_f64(product);
  }
  tk_f64 value;
  if (z < 0.0) {
    const tk_f64 t = z + 0.5;
    tk_f64 q = -7.7742834355288065e-6;
    q = tk_horner_f64(q, t, 1.2141363392680489e-5);
    q = tk_horner_f64(q, t, -8.337276044532044e-6);
    q = tk_horner_f64(q, t, 1.3184329025247033e-5);
    q = tk_horner_f64(q, t, -2.7211635161075425e-5);
    q = tk_horner_f64(q, t, 4.3028576918031382e-5);
    q = tk_horner_f64(q, t, -6.6138241606054102e-5);
    q = tk_horner_f64(q, t, 0.00010535486227574695);
    q = tk_horner_f64(q, t, -0.0001689184196860916);
    q = tk_horner_f64(q, t, 0.00027131378512101933);
    q = tk_horner_f64(q, t, -0.00043799300242132282);
    q = tk_horner_f64(q, t, 0.00071151906241955257);
    q = tk_horner_f64(q, t, -0.0011644145902143009);
    q = tk_horner_f64(q, t, 0.0019229163131302149);
    q = tk_horner_f64(q, t, -0.0032120740734658823);
    q = tk_horner_f64(q, t, 0.0054464578391130673);
    q = tk_horner_f64(q, t, -0.0094256224485320238);
    q = tk_horner_f64(q, t, 0.016797098631274411);
    q = tk_horner_f64(q, t, -0.031308487501010576);
    q = tk_horner_f64(q, t, 0.062911401074564388);
    q = tk_horner_f64(q, t, -0.14595989591430608);
    q = tk_horner_f64(q, t, 0.48312895054098087);
    value = q;
  } else {
    const tk_f64 t = z - 0.5;
    tk_f64 q = -4.9332892944716705e-9;
    q = tk_horner_f64(q, t, 1.2966916594911476e-8);
    q = tk_horner_f64(q, t, -2.8619456705169351e-8);
    q = tk_horner_f64(q, t, 7.5738241268385619e-8);
    q = tk_horner_f64(q, t, -2.0379953350431623e-7);
    q = tk_horner_f64(q, t, 5.4365647874302394e-7);
    q = tk_horner_f64(q, t, -1.4570228277271279e-6);
    q = tk_horner_f64(q, t, 3.9305759041749885e-6);
    q = tk_horner_f64(q, t, -1.0682329314939351e-5);
    q = tk_horner_f64(q, t, 2.9299284312702801e-5);
    q = tk_horner_f64(q, t, -8.130228882123482e-5);
    q = tk_horner_f64(q, t, 0.00022905363739926103);
    q = tk_horner_f64(q, t, -0.00065863970677392653);
    q = tk_horner_f64(q, t, 0.0019490574889487024);
    q = tk_horner_f64(q, t, -0.0060187685270331887);
    q = tk_horner_f64(q, t, 0.01990515430474318);
    q = tk_horner_f64(q, t, -0.074663574154499424);
    q = tk_horner_f64(q, t, 0.37957716063055885);
    value = q;
  }
  return tk_fma_f64(z * (1.0 + z), value, shift);
}
