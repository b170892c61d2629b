"""The names that scripts for nvFuser use, of both of its Python packages: where each is, and whether it works here."""

# Of works: the object (as test_nvfuser_names.py finds it), and names that it has.
WORKS = {
    "fd": """define_tensor define_scalar define_constant define_vector add_output execute segment debug_output
        from_pytorch fusion_ir last_cuda_code cuda_code_for last_scheduled_fusion_ir scheduled_fusion_ir_for validate
        getValTolerances inputs outputs extents id definition schedule multidevice_schedule ops sched segments
        manual_execute manual_validate validate_definition fusion fec ke __repr__ __enter__ __exit__
        _setup_definition _finalize_definition _exist_schedule _setup_schedule _finalize_schedule
        _setup_multidevice_schedule _finalize_multidevice_schedule _setup_segmentation _finalize_segmentation _execute
        _debug_output _fusion_ir _user_schedule_ir""",
    "ops": """abs acos acosh asin asinh atan atanh ceil cos cosh exp exp2 expm1 erf erfc erfinv erfcinv floor frac
        lgamma log log10 log1p log2 neg logical_not bitwise_not relu rand_like randn_like reciprocal round rsqrt set
        segment_set sign sigmoid signbit silu sin sinh sqrt tan tanh trunc isfinite isinf isnan isneginf isposinf isreal
        real add atan2 div truediv fmod mul nextafter pow remainder sub minimum maximum mod eq ge gt le lt ne
        logical_and logical_or bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift
        logical_right_shift gcd lerp where clamp threshold addcmul add_alpha sub_alpha cast matmul linear sum prod max
        min var var_mean welford normal uniform full iota batch_norm broadcast_in_dim broadcast expand cat pad slice
        squeeze permute reshape stride_order shape size at tensor_sizes index_select select gather take_along_axis
        embedding_fwd sdpfa_fwd sdpfa_bwd triu""",
    "sched": """to_string user_schedule_ir _set_device_mesh parallelize merge reduction_factor rfactor reorder split
        set_allocation_as_loop cache_after cache_before cache_fork set_memory_type transform_like parallelize_like
        inline_most inline_at tensors is_reduction can_schedule find_compatible_schedulers schedule
        compute_pointwise_heuristics compute_reduction_heuristics compute_heuristics schedule_hyperparameters""",
    "tensor": """ndim dtype size shape has_root domain get_logical_domain get_loop_domain get_root_domain cache_after
        cache_before set_memory_type split inner_split outer_split merge reorder rfactor set_allocation_domain
        set_device_mesh axis __add__ __mul__ __pow__ __sub__ __mod__ __eq__ __ge__ __gt__ __le__ __lt__ __ne__ __and__
        __or__ __xor__ __lshift__ __rshift__ __truediv__ __abs__ __neg__""",
    "axis": "is_reduction extent parallelize",
    "vector": "size at __getitem__",
    "module": """FusionDefinition DataType ParallelType LoadStoreOpType CacheOp MemoryType SchedulerType
        CommunicatorBackend IdMappingMode MatmulTileRasterizationOrder MatmulDimRole MatmulTensorRole Tensor Scalar
        Vector TensorView IterDomain TensorDomain FusionCache LRUCache LruFusionCache Fusion FusionExecutorCache
        KernelExecutor SchedulerHyperParameters Communicator DeviceMesh Sharding MultiDeviceExecutor
        MultiDeviceExecutorParams shard_tensor compute_contiguity compute_tensor_descriptor clone serialize
        enable_automatic_serialization torch_dtype_to_nvfuser_dtype nvfuser_dtype_to_torch_dtype
        python_scalar_to_nvfuser_dtype translate_fusion validate_with_auto_inferred_outputs get_val_tolerances schedule
        multidevice idm nvf_cutlass PythonProfiler LaunchParams CompileParams PointwiseParams ReductionParams
        MatmulParams MatMulTileOptions GemmTile MmaMacro MmaMacroEncode CircularBufferOptions SupportedVectorization
        execute_with_dtensors disable_automatic_serialization""",
    "module.schedule": """transform_like parallelize_like inline_most inline_at can_schedule find_compatible_schedulers
        compute_heuristics schedule bounded_transform_backward warp_specialize""",
    "module.multidevice": """Communicator DeviceMesh Sharding shard_tensor MultiDeviceExecutor
        MultiDeviceExecutorParams CommunicatorBackend""",
    "module.pytorch_utils": "torch_dtype_to_nvfuser_dtype python_scalar_to_nvfuser_dtype",
    "fd.fusion": "add_input add_output inputs outputs vals print_math print_kernel __eq__",
    "fd.fec": """execute is_compiled fusion get_cuda_kernel get_scheduled_ir get_most_recent_scheduled_ir
        get_output_shardings""",
    "fd.ke": "compile run is_compiled is_programmatic_dependent_launch_enabled",
    "module.FusionCache.get()": "get reset num_fusions serialize deserialize stats __repr__",
    "module.LRUCache()": "cache_compile stats num_fusions",
    "module.DeviceMesh([0])": "size shape shard_tensor",
    "module.Sharding(module.DeviceMesh([0]))": "mesh axis_sharded_on",
    "module.Communicator()": "instance size rank local_size local_rank is_available barrier",
    "module.MultiDeviceExecutor(fd)": "run",
    "module.MultiDeviceExecutorParams()": """use_allocation_cache number_of_streams backend_type
        offset_stream_indexing_by_rank inter_stream_synchronization""",
    "module.SchedulerHyperParameters()": """vectorize_factor unroll_factor threads_per_block_min
        threads_per_block_max""",
    "module.DataType": """Double Float Half Int Int32 UInt64 Bool BFloat16 Float8_e4m3fn Float8_e5m2 ComplexFloat
        ComplexDouble Null Index Float8_e8m0fnu Float4_e2m1fn Float4_e2m1fn_x2""",
    "module.ParallelType": """mesh_x mesh_y mesh_z grid_x grid_y grid_z block_x block_y block_z mma serial tma unroll
        unswitch vectorize stream""",
    "module.LoadStoreOpType": "set load_matrix cp_async tma",
    "module.CacheOp": "unspecified all_levels streaming global",
    "module.MemoryType": "local shared global tensor symmetric",
    "module.SchedulerType": """none no_op pointwise matmul reduction inner_persistent inner_outer_persistent
        outer_persistent transpose expr_eval resize""",
    "module.CommunicatorBackend": "nccl ucc cuda",
}

# What is not there: a use of it, which raises NotImplementedError with the name that the message has.
REFUSED = {
    "ops.imag": "ops.imag(x)",
    "ops.complex": "ops.complex(x, x)",
    "ops.argsort": "ops.argsort(x, 0)",
    "ops.topk": "ops.topk(x, 2)",
    "ops.cumsum": "ops.cumsum(x, 0)",
    "ops.cumprod": "ops.cumprod(x, 0)",
    "ops.cummin": "ops.cummin(x, 0)",
    "ops.cummax": "ops.cummax(x, 0)",
    "ops.scatter": "ops.scatter(x, x, x, 0)",
    "ops.index_put_accumulate": "ops.index_put_accumulate(x, x, x)",
    "ops.grouped_mm": "ops.grouped_mm(x, x, x)",
    "ops.scaled_mm": "ops.scaled_mm(x, x, x, x)",
    "ops.cutlass_nvfp4_grouped_mm": "ops.cutlass_nvfp4_grouped_mm(x, x, x, x, x, x, x, x)",
    "ops.preprocess_grouped_matmul_input_sf": "ops.preprocess_grouped_matmul_input_sf(x, x, x)",
    "ops.nv_block_quantize": "ops.nv_block_quantize(x)",
    "ops.nv_grouped_block_quantize": "ops.nv_grouped_block_quantize(x, x, x)",
    "ops.sdpfa_fwd: dropout_p": "ops.sdpfa_fwd(y, y, y, 0.5)",
    "ops.sdpfa_bwd: dropout_p": "ops.sdpfa_bwd(y, y, y, y, y, x, 0.5, False, None, None)",
    "sched.compute_matmul_heuristics": "sched.compute_matmul_heuristics()",
    "sched.bounded_transform_backward": "sched.bounded_transform_backward(x, [x])",
    "sched.warp_specialize": "sched.warp_specialize(x)",
    "sched.set_memory_type: MemoryType.tensor": "sched.set_memory_type(x, module.MemoryType.tensor)",
    "sched.set_memory_type: MemoryType.symmetric": "sched.set_memory_type(x, module.MemoryType.symmetric)",
    "sched.cache_after: op_type LoadStoreOpType.tma": "sched.cache_after(x, module.LoadStoreOpType.tma)",
    "swizzle": "x.swizzle(0, 1)",
    "swizzle1d": "x.swizzle1d(0)",
    "merge": "x.merge(0, 2)",
    "set_allocation_domain": "x.set_allocation_domain([])",
    "Fusion.add_input": "fd.fusion.add_input(x)",
    "_build_segment": "fd._build_segment(fd, 0)",
    "KernelExecutor.compile": "fd.ke.compile(fd.fusion, [], 1)",
    "KernelExecutor.run": "fd.ke.run([], 1)",
    "FusionCache.serialize": "module.FusionCache.get().serialize('name')",
    "FusionCache.deserialize": "module.FusionCache.get().deserialize('name')",
    "disable_automatic_serialization": "module.disable_automatic_serialization()",
    "schedule.bounded_transform_backward": "module.schedule.bounded_transform_backward(x, [x])",
    "schedule.warp_specialize": "module.schedule.warp_specialize(x)",
    "idm.IdModel": "module.idm.IdModel(fd.fusion)",
    "idm.ValGraph": "module.idm.ValGraph()",
    "execute_with_dtensors": "module.execute_with_dtensors(fd, [])",
    "PythonProfiler": "module.PythonProfiler()",
    "LaunchParams": "module.LaunchParams()",
    "CompileParams": "module.CompileParams()",
    "PointwiseParams": "module.PointwiseParams()",
    "ReductionParams": "module.ReductionParams()",
    "MatmulParams": "module.MatmulParams()",
    "MatMulTileOptions": "module.MatMulTileOptions()",
    "GemmTile": "module.GemmTile(1, 2, 3)",
    "MmaMacro": "module.MmaMacro()",
    "MmaMacroEncode": "module.MmaMacroEncode()",
    "CircularBufferOptions": "module.CircularBufferOptions()",
    "SupportedVectorization": "module.SupportedVectorization()",
    "nvf_cutlass.mxfp8_scaled_mm": "module.nvf_cutlass.mxfp8_scaled_mm()",
    "nvf_cutlass.nvfp4_scaled_mm": "module.nvf_cutlass.nvfp4_scaled_mm()",
    "nvf_cutlass.nvfp4_scaled_mm_blockscale": "module.nvf_cutlass.nvfp4_scaled_mm_blockscale()",
    "nvf_cutlass.grouped_mm": "module.nvf_cutlass.grouped_mm()",
    "nvf_cutlass.nvfp4_scaled_grouped_mm": "module.nvf_cutlass.nvfp4_scaled_grouped_mm()",
    **{f"DataType.{name}": f"module.FusionDefinition().define_tensor([-1], dtype=module.DataType.{name})"
       for name in ("UInt64", "Float8_e4m3fn", "Float8_e5m2", "ComplexFloat", "ComplexDouble", "Index",
                    "Float8_e8m0fnu", "Float4_e2m1fn", "Float4_e2m1fn_x2")},
}
