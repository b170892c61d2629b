// needs: basics_TYPE
/* x, but not above or below the limit; a NaN stays. */
TK_FN TK_T tk_at_most_TYPE(TK_T x, tk_f32 limit) { return tk_select_TYPE(x > limit, tk_splat_TYPE(limit), x); }
TK_FN TK_T tk_at_least_TYPE(TK_T x, tk_f32 limit) { return tk_select_TYPE(x < limit, tk_splat_TYPE(limit), x); }
