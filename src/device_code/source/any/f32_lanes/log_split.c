// needs: basics_TYPE
/* x = 2^n (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)), for 0 < x < inf; returns f. */
TK_FN TK_T tk_log_split_TYPE(TK_T x, TK_T *n) {
  const TK_M is_tiny = x < 1.17549435e-38f;
  const TK_I bits = tk_bits_TYPE(tk_select_TYPE(is_tiny, x * 8388608.0f, x));
  const TK_I above = (TK_I)((TK_U)bits - 0x3f3504f3);
  *n = tk_convert_TYPE(above >> 23) - tk_select_TYPE(is_tiny, tk_splat_TYPE(23.0f), tk_splat_TYPE(0.0f));
  return tk_from_bits_TYPE((TK_I)((TK_U)bits - (TK_U)(above & -0x800000))) - 1.0f;
}
