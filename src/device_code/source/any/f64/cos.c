// needs: trig_reduce_f64 trig_sine_f64 trig_cosine_f64
TK_FN tk_f64 tk_cos_f64(tk_f64 x) {
  tk_i32 quadrant;
  tk_f64 low;
  const tk_f64 r = tk_trig_reduce_f64(x, &low, &quadrant);
  const tk_f64 value = (quadrant & 1) != 0 ? tk_trig_sine_f64(r, low) : tk_trig_cosine_f64(r, low);
  return ((quadrant + 1) & 2) != 0 ? -value : value;
}
