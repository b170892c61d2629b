// needs: basics_TYPE
/* Lanes that lie side by side in memory, at any place of their elements. */
typedef TK_T tk_near_TYPE __attribute__((aligned(sizeof(TK_E)), may_alias));
TK_FN TK_T tk_load_TYPE(const TK_E *at) { return *(const tk_near_TYPE *)at; }
TK_FN void tk_store_TYPE(TK_E *at, TK_T x) { *(tk_near_TYPE *)at = x; }
