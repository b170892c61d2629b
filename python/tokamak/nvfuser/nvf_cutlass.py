"""Products of scaled blocks by CUTLASS, which the library does not have."""
from .._missing_ops import MISSING_OPS
from .refused import refused_function


def _missing(name, op):
    return refused_function(f"nvf_cutlass.{name}", MISSING_OPS[op], __name__)


grouped_mm = _missing("grouped_mm", "grouped_mm")
mxfp8_scaled_mm = _missing("mxfp8_scaled_mm", "scaled_mm")
nvfp4_scaled_mm = _missing("nvfp4_scaled_mm", "scaled_mm")
nvfp4_scaled_mm_blockscale = _missing("nvfp4_scaled_mm_blockscale", "scaled_mm")
nvfp4_scaled_grouped_mm = _missing("nvfp4_scaled_grouped_mm", "scaled_mm")
