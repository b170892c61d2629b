// needs: abs_TYPE
/* x + t (y - x), from the nearer end. */
TK_FN TK_T tk_lerp_TYPE(TK_T x, TK_T y, TK_T t) {
  const TK_T step = y - x;
  const TK_T from_x = x + t * step, from_y = y - step * (1 - t);
  return tk_select_TYPE(tk_abs_TYPE(t) < (TK_E)0.5, from_x, from_y);
}
