// needs:
/* Both are computed, so that loops vectorise. */
TK_FN tk_f64 tk_where_f64(tk_bool condition, tk_f64 x, tk_f64 y) { return condition ? x : y; }
