// needs: basics_TYPE
TK_FN TK_T tk_exp2_TYPE(TK_T x) {
  x = tk_select_TYPE(x > 1025.0, tk_splat_TYPE(1025.0), x);
  x = tk_select_TYPE(x < -1076.0, tk_splat_TYPE(-1076.0), x);
  const TK_T shifted = x + 6755399441055744.0;
  const TK_T r = x - (shifted - 6755399441055744.0);
  const TK_U k = (TK_U)tk_bits_TYPE(shifted) - 0x4338000000000000ULL;
  TK_T q = tk_splat_TYPE(2.5581307254125935e-11);
  q = tk_horner_TYPE(q, r, 4.4562006871330837e-10);
  q = tk_horner_TYPE(q, r, 7.055006664331693e-9);
  q = tk_horner_TYPE(q, r, 1.0178054657902346e-7);
  q = tk_horner_TYPE(q, r, 1.3215486507865292e-6);
  q = tk_horner_TYPE(q, r, 1.5252733846902524e-5);
  q = tk_horner_TYPE(q, r, 0.00015403530393746942);
  q = tk_horner_TYPE(q, r, 0.0013333558146401876);
  q = tk_horner_TYPE(q, r, 0.0096181291076282739);
  q = tk_horner_TYPE(q, r, 0.055504108664821639);
  q = tk_horner_TYPE(q, r, 0.24022650695910072);
  const TK_U half = ((k + 4096) >> 1) - 2048;
  const TK_T a = tk_from_bits_TYPE((TK_I)((half + 1023) << 52));
  const TK_T b = tk_from_bits_TYPE((TK_I)((k - half + 1023) << 52));
  const TK_T rest = tk_fma_TYPE(r * r, q, r * 2.3190468138462996e-17);
  return (1.0 + tk_fma_TYPE(r, tk_splat_TYPE(0.69314718055994529), rest)) * a * b;
}
