"""Ops that scripts for nvFuser name and the library lacks: what a script does instead, until they come."""

_SCANS = "cumulative ops come later; compute it before the call, and give the result as an input"
_SORTS = "sorting comes later; sort before the call, and give the result as an input"
_WRITES = ("writes at computed indices come later; a sum over ops.where(ops.eq(index, position), value, 0) is the same "
           "for few positions")
_COMPLEX = "complex numbers are not there; give real and imaginary parts as two tensors"
_GROUPS = "products of groups come later; ops.matmul of each group's rows is the same"
_SCALED = ("products of scaled blocks need types of 8 and 4 bits, which come later; multiply by the scales, and take "
           "ops.matmul")
_BLOCKS = "types of 4 bits come later; ops.cast to DataType.Half or BFloat16 is the narrowest that there is"

MISSING_OPS = {
    "argsort": _SORTS, "topk": _SORTS,
    "cummax": _SCANS, "cummin": _SCANS, "cumprod": _SCANS, "cumsum": _SCANS,
    "complex": _COMPLEX, "imag": _COMPLEX,
    "index_put_accumulate": _WRITES, "scatter": _WRITES,
    "grouped_mm": _GROUPS, "scaled_mm": _SCALED,
    "cutlass_nvfp4_grouped_mm": _SCALED, "preprocess_grouped_matmul_input_sf": _SCALED,
    "nv_block_quantize": _BLOCKS, "nv_grouped_block_quantize": _BLOCKS,
}
