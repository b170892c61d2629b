// needs: basics_TYPE
/* Half types that lie side by side in memory. */
typedef TK_H tk_near_half_TYPE __attribute__((aligned(2), may_alias));
TK_FN TK_H tk_load_half_TYPE(const tk_u16 *at) { return *(const tk_near_half_TYPE *)at; }
TK_FN void tk_store_half_TYPE(tk_u16 *at, TK_H x) { *(tk_near_half_TYPE *)at = x; }
TK_FN TK_H tk_splat_half_TYPE(tk_u16 x) { return x + (TK_H){0}; }
