"""Names that scripts for nvFuser choose from, and that steer nothing here."""
from ..schedule import _Names


class CommunicatorBackend(_Names):
    """How several devices would communicate."""

    nccl = "nccl"
    ucc = "ucc"
    cuda = "cuda"


class IdMappingMode(_Names):
    """Kinds of equality between axes."""

    exact = "exact"
    almost_exact = "almost_exact"
    broadcast = "broadcast"
    permissive = "permissive"
    loop = "loop"
    inner_most = "inner_most"
    permissive_resize = "permissive_resize"


class MatmulTileRasterizationOrder(_Names):
    """Along which axis the blocks of a product go."""

    row_major = "row_major"
    column_major = "column_major"


class MatmulDimRole(_Names):
    """What an axis of a product is."""

    batch = "batch"
    m = "m"
    n = "n"
    k = "k"


class MatmulTensorRole(_Names):
    """What a tensor of a product is."""

    operand = "operand"
    output = "output"
    epilogue_input = "epilogue_input"
