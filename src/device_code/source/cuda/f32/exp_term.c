// needs: ex2_approx_f32
/* For terms of sums: x / log 2 is rounded once, which a term of a sum with a term of 1 can bear. */
TK_FN tk_f32 tk_exp_term_f32(tk_f32 x) { return tk_ex2_approx_f32(x * 1.44269502f); }
