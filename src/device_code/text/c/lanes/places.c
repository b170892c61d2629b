// needs: basics_TYPE
/* Lanes that lie side by side in memory, at any place of their elements. */
typedef TK_T tk_near_TYPE __attribute__((aligned(4), may_alias));
typedef TK_H tk_near_half_TYPE __attribute__((aligned(2), may_alias));
TK_FN TK_T tk_load_TYPE(const tk_f32 *at) { return *(const tk_near_TYPE *)at; }
TK_FN TK_H tk_load_half_TYPE(const tk_u16 *at) { return *(const tk_near_half_TYPE *)at; }
TK_FN void tk_store_TYPE(tk_f32 *at, TK_T x) { *(tk_near_TYPE *)at = x; }
TK_FN void tk_store_half_TYPE(tk_u16 *at, TK_H x) { *(tk_near_half_TYPE *)at = x; }
TK_FN TK_H tk_splat_half_TYPE(tk_u16 x) { return x + (TK_H){0}; }
TK_FN TK_M tk_splat_mask_TYPE(tk_i32 x) { return (TK_M){0} - x; }
