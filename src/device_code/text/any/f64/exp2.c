// needs: basics_f64
TK_FN tk_f64 tk_exp2_f64(tk_f64 x) {
  x = x > 1025.0 ? 1025.0 : x;
  x = x < -1076.0 ? -1076.0 : x;
  const tk_f64 shifted = x + 6755399441055744.0;
  const tk_f64 r = x - (shifted - 6755399441055744.0);
  const tk_u64 k = (tk_u64)tk_bits_f64(shifted) - 0x4338000000000000ULL;
  tk_f64 q = 2.5581307254125935e-11;
  q = tk_horner_f64(q, r, 4.4562006871330837e-10);
  q = tk_horner_f64(q, r, 7.055006664331693e-9);
  q = tk_horner_f64(q, r, 1.0178054657902346e-7);
  q = tk_horner_f64(q, r, 1.3215486507865292e-6);
  q = tk_horner_f64(q, r, 1.5252733846902524e-5);
  q = tk_horner_f64(q, r, 0.00015403530393746942);
  q = tk_horner_f64(q, r, 0.0013333558146401876);
  q = tk_horner_f64(q, r, 0.0096181291076282739);
  q = tk_horner_f64(q, r, 0.055504108664821639);
  q = tk_horner_f64(q, r, 0.24022650695910072);
  const tk_u64 half = ((k + 4096) >> 1) - 2048;
  const tk_f64 a = tk_from_bits_f64((tk_i64)((half + 1023) << 52));
  const tk_f64 b = tk_from_bits_f64((tk_i64)((k - half + 1023) << 52));
  const tk_f64 rest = tk_fma_f64(r * r, q, r * 2.3190468138462996e-17);
  return (1.0 + tk_fma_f64(r, 0.69314718055994529, rest)) * a * b;
}
