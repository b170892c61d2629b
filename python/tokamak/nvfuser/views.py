"""Fusion, FusionExecutorCache and KernelExecutor: a definition, as scripts see it from its parts."""
from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NoReturn

from .. import _tokamak
from .._arguments import shown
from .._values import Scalar, Tensor
from .refused import refused_class

if TYPE_CHECKING:
    from .definition import FusionDefinition


def definition_of(what: str, fusion: Any) -> FusionDefinition:
    """The definition of what a function is given: itself, or its fusion. Raises TypeError for others."""
    from ..definition import FusionDefinition

    found = fusion._definition if isinstance(fusion, Fusion) else fusion
    if not isinstance(found, FusionDefinition):
        raise TypeError(f"{what}: a FusionDefinition or its .fusion is legal, not {shown(fusion)}")
    return found


class Fusion:
    """What fd.fusion gives. Two are equal if they say the same, whatever their definitions' ids."""

    __slots__ = ("_definition",)

    def __init__(self, definition: FusionDefinition) -> None:
        self._definition = definition

    def add_input(self, tensor: Any) -> NoReturn:
        """Raises NotImplementedError."""
        raise NotImplementedError("Fusion.add_input: fd.define_tensor() and fd.define_scalar() make inputs")

    def add_output(self, output: Tensor) -> None:
        """fd.add_output()."""
        self._definition.add_output(output)

    def inputs(self) -> list[Tensor | Scalar]:
        """The inputs, in the order in which calls take them."""
        return self._definition.inputs()

    def outputs(self) -> list[Tensor]:
        """The tensors that calls give."""
        return self._definition.outputs()

    def vals(self) -> list[Tensor | Scalar]:
        """The values that the calls of the definition gave, in that order."""
        return self._definition._records.values()

    def print_math(self) -> None:
        """Prints the fusion as a text."""
        print(self._definition.fusion_ir(), end="")

    def print_kernel(self) -> None:
        """Prints the CUDA source for the inputs of the last call. Raises tokamak.Error before one."""
        print(self._definition.last_cuda_code(), end="")

    def _key(self):
        return re.sub(r"^fusion \w+", "fusion", self._definition.fusion_ir())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fusion) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return self._definition.fusion_ir()


class FusionExecutorCache:
    """What fd.fec gives, and FusionExecutorCache(fd.fusion): calls of the definition."""

    __slots__ = ("_definition",)

    def __init__(self, fusion: Any) -> None:
        self._definition = definition_of("FusionExecutorCache", fusion)

    def execute(self, inputs: Iterable[Any], *, device: str | int | None = None) -> list[Any]:
        """fd.execute()."""
        return self._definition.execute(inputs, device=device)

    def is_compiled(self, inputs: Iterable[Any] = ()) -> bool:
        """Whether the definition has run."""
        return self._definition._program is not None

    def fusion(self) -> Fusion:
        """The definition's fusion."""
        return Fusion(self._definition)

    def get_cuda_kernel(self, inputs: Iterable[Any]) -> str:
        """fd.cuda_code_for()."""
        return self._definition.cuda_code_for(inputs)

    def get_scheduled_ir(self, inputs: Iterable[Any], tensor_transforms: bool = False) -> str:
        """fd.scheduled_fusion_ir_for()."""
        return self._definition.scheduled_fusion_ir_for(inputs, tensor_transforms)

    def get_most_recent_scheduled_ir(self, tensor_transforms: bool = False) -> str:
        """fd.last_scheduled_fusion_ir()."""
        return self._definition.last_scheduled_fusion_ir(tensor_transforms)

    def get_output_shardings(self) -> list[Any]:
        """Nothing: no output is divided among devices."""
        return []


class KernelExecutor:
    """A definition that is compiled for some inputs, and run."""

    __slots__ = ("_definition",)

    def __init__(self) -> None:
        self._definition: FusionDefinition | None = None

    def compile(self, fusion: Any, inputs: Iterable[Any] = (), *args: Any, **kwargs: Any) -> None:
        """Compiles for inputs like these, with the schedule by hand if there is one. Launch parameters follow from the
        schedule: raises NotImplementedError for further arguments."""
        if args or any(value is not None for value in kwargs.values()):
            raise NotImplementedError("KernelExecutor.compile: parameters of a launch follow from the schedule: "
                                      "fd.sched.split() by the number of threads, and ParallelType.block_x")
        definition = definition_of("KernelExecutor.compile", fusion)
        definition.scheduled_fusion_ir_for(inputs)
        self._definition = definition

    def run(self, inputs: Iterable[Any], *args: Any, **kwargs: Any) -> list[Any]:
        """Runs. Raises tokamak.Error before compile()."""
        if args or any(value is not None for value in kwargs.values()):
            raise NotImplementedError("KernelExecutor.run: parameters of a launch follow from the schedule")
        if self._definition is None:
            raise _tokamak.Error("KernelExecutor.run: compile() comes first")
        return self._definition.execute(inputs)

    def is_compiled(self) -> bool:
        """Whether compile() was called."""
        return self._definition is not None

    def is_programmatic_dependent_launch_enabled(self, *args: Any) -> bool:
        """False: a kernel starts when the one before it has ended."""
        return False


_LAUNCH = "parameters of a launch follow from the schedule: fd.sched.split() by the number of threads"
_SCHEDULE = "fd.sched.compute_{}_heuristics() gives an object to edit, which fd.sched.schedule() applies"
_PRODUCT = "products are the library's own, or OpenBLAS' and cuBLAS'; nothing of them is chosen by hand"

LaunchParams = refused_class("LaunchParams", _LAUNCH, __name__)
CompileParams = refused_class("CompileParams", "indices' types and registers are chosen for each kernel", __name__)
PointwiseParams = refused_class("PointwiseParams", _SCHEDULE.format("pointwise"), __name__)
ReductionParams = refused_class("ReductionParams", _SCHEDULE.format("reduction"), __name__)
MatmulParams = refused_class("MatmulParams", _PRODUCT, __name__)
MatMulTileOptions = refused_class("MatMulTileOptions", _PRODUCT, __name__)
GemmTile = refused_class("GemmTile", _PRODUCT, __name__)
MmaMacro = refused_class("MmaMacro", _PRODUCT, __name__)
MmaMacroEncode = refused_class("MmaMacroEncode", _PRODUCT, __name__)
CircularBufferOptions = refused_class("CircularBufferOptions", _PRODUCT, __name__)
SupportedVectorization = refused_class("SupportedVectorization", _PRODUCT, __name__)
