// needs: fmod_TYPE
TK_FN TK_T tk_mod_TYPE(TK_T x, TK_T y) { return tk_fmod_TYPE(x, y); }
