"""Names of options that scripts for nvFuser pass. They steer its compiler and have no meaning here."""

ENABLE_OPTIONS = frozenset("""cutlass_scheduler fast_math fuse_matmul fuse_multiple_matmuls host_ir_lowering id_model
id_model_extra_validation infer_contiguity io_to_lower_precision kernel_db kernel_debug kernel_lineinfo kernel_profile
memory_promotion reuse_zeroed_memory static_fusion_count tma_pointwise tma_reduction wait_debugger warn_register_spill
ws_normalization""".split())
DISABLE_OPTIONS = frozenset("""compile_to_sass contig_indexing expr_simplify fallback fma
grouped_grid_welford_outer_opt index_hoist kernel_reuse magic_zero matmul_expr_eval multidevice nvrtc_caching nvtx
parallel_compile parallel_serde predicate_elimination python_inline_definitions resize_scheduler
reuse_mismatched_type_registers var_name_remapping welford_vectorization""".split())
