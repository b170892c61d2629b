// needs: trig_reduce_f32 trig_sine_f32 trig_cosine_f32
TK_FN tk_f32 tk_tan_f32(tk_f32 x) {
  tk_i32 quadrant;
  const tk_f64 r = tk_trig_reduce_f32(x, &quadrant);
  const tk_f64 sine = tk_trig_sine_f32(r), cosine = tk_trig_cosine_f32(r);
  const tk_i32 is_odd = (quadrant & 1) != 0;
  return (tk_f32)((is_odd ? -cosine : sine) / (is_odd ? sine : cosine));
}
