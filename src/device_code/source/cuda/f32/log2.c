// needs: log_split_f32 abs_f32
/* n + f P(f) */
TK_FN tk_f32 tk_log2_f32(tk_f32 x) {
  tk_f32 n, special;
  const tk_f32 f = tk_log_split_f32(x, &n, &special);
  tk_f32 p = 0.126340047f;
  p = tk_horner_f32(p, f, -0.207118899f);
  p = tk_horner_f32(p, f, 0.215431735f);
  p = tk_horner_f32(p, f, -0.238955289f);
  p = tk_horner_f32(p, f, 0.287953019f);
  p = tk_horner_f32(p, f, -0.360703975f);
  p = tk_horner_f32(p, f, 0.48090905f);
  p = tk_horner_f32(p, f, -0.721347332f);
  p = tk_horner_f32(p, f, 1.44269502f);
  const tk_f32 value = tk_fma_f32(f, p, n);
  return tk_abs_f32(special) < tk_infinity_f32() ? value : special;
}
