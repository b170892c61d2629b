// needs: basics_f32 abs_f32 copysign_f32 ex2_approx_f32
/* x + x Q(x^2), from 1 on 1 - 2^Q(|x|), where the power is at most 0.16. Q falls without end, so no argument is too large. */
TK_FN tk_f32 tk_erf_f32(tk_f32 x) {
  const tk_f32 magnitude = tk_abs_f32(x);
  const tk_f32 square = x * x;
  tk_f32 small = -0.00056309934f;
  small = tk_horner_f32(small, square, 0.00491743302f);
  small = tk_horner_f32(small, square, -0.026711192f);
  small = tk_horner_f32(small, square, 0.112801746f);
  small = tk_horner_f32(small, square, -0.37612325f);
  small = tk_horner_f32(small, square, 0.128379121f);
  tk_f32 large = -0.00166893378f;
  large = tk_horner_f32(large, magnitude, 0.0213938504f);
  large = tk_horner_f32(large, magnitude, -0.128100201f);
  large = tk_horner_f32(large, magnitude, -0.943883181f);
  large = tk_horner_f32(large, magnitude, -1.61237717f);
  large = tk_horner_f32(large, magnitude, -0.00378119433f);
  const tk_f32 outer = tk_copysign_f32(1.0f - tk_ex2_approx_f32(large), x);
  return magnitude < 1.0f ? tk_fma_f32(x, small, x) : outer;
}
