// needs:
/* Both are computed, so that loops vectorise. */
TK_FN TK_T tk_where_TYPE(tk_bool condition, TK_T x, TK_T y) { return condition ? x : y; }
