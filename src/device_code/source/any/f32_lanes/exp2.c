// needs: basics_TYPE
TK_FN TK_T tk_exp2_TYPE(TK_T x) {
  x = tk_select_TYPE(x > 129.0f, tk_splat_TYPE(129.0f), x);
  x = tk_select_TYPE(x < -151.0f, tk_splat_TYPE(-151.0f), x);
  const TK_T shifted = x + 12582912.0f;
  const TK_T r = x - (shifted - 12582912.0f);
  const TK_I k = tk_bits_TYPE(shifted) - 0x4b400000;
  TK_T q = tk_splat_TYPE(1.44757823e-5f);
  q = tk_horner_TYPE(q, r, 0.000154559471f);
  q = tk_horner_TYPE(q, r, 0.00133372773f);
  q = tk_horner_TYPE(q, r, 0.00961807836f);
  q = tk_horner_TYPE(q, r, 0.0555040576f);
  q = tk_horner_TYPE(q, r, 0.240226507f);
  q = tk_horner_TYPE(q, r, 0.693147182f);
  const TK_I half = k >> 1;
  const TK_T a = tk_from_bits_TYPE((TK_I)((TK_U)(half + 127) << 23));
  const TK_T b = tk_from_bits_TYPE((TK_I)((TK_U)(k - half + 127) << 23));
  return tk_fma_TYPE(r, q, tk_splat_TYPE(1.0f)) * a * b;
}
