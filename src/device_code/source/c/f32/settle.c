// needs:
/* What was written past the caches is there for others from now on. */
TK_FN void tk_settle_f32(void) {
#if defined(__SSE2__)
  __builtin_ia32_sfence();
#endif
}
