// needs: trig_reduce_f64 trig_sine_f64 trig_cosine_f64
TK_FN tk_f64 tk_sin_f64(tk_f64 x) {
  tk_i32 quadrant;
  tk_f64 low;
  const tk_f64 r = tk_trig_reduce_f64(x, &low, &quadrant);
  const tk_f64 value = (quadrant & 1) != 0 ? tk_trig_cosine_f64(r, low) : tk_trig_sine_f64(r, low);
  const tk_i32 is_negative = ((quadrant & 2) != 0) != (tk_bits_f64(x) < 0);
  return is_negative ? -value : value;
}
