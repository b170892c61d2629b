// needs: exp_TYPE
/* 1 + tanh(x) = 2 / (1 + e^-2x): the sum needs no exactness near 0, which costs tanh a polynomial of its own. */
TK_FN TK_T tk_one_plus_tanh_TYPE(TK_T x) { return 2.0f / (1.0f + tk_exp_TYPE(-2.0f * x)); }
