"""FusionDefinition as scripts for nvFuser expect it."""
from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterable
from typing import Any, NoReturn

from .. import _tokamak, definition
from .._arguments import flag, listed, shown
from .enums import CommunicatorBackend
from .multidevice import rank_program
from .tensors import TensorView
from .validation import get_val_tolerances
from .views import Fusion, FusionExecutorCache, KernelExecutor


def _has_torch():
    """Whether torch is installed; it is imported when a call needs it."""
    return sys.modules["torch"] is not None if "torch" in sys.modules else importlib.util.find_spec("torch") is not None


class Segment:
    """A kernel of a definition for some inputs: texts to look at."""

    __slots__ = ("_texts",)

    def __init__(self, texts: tuple[str, str, str]) -> None:
        self._texts = texts

    def fusion_ir(self) -> str:
        """Its fusion with the schedule."""
        return self._texts[0]

    def source(self) -> str:
        """What is compiled: C on a processor, CUDA on a GPU."""
        return self._texts[2]

    def __repr__(self) -> str:
        return self._texts[0]


class FusionDefinition(definition.FusionDefinition):
    __doc__ = definition.FusionDefinition.__doc__

    _division = "div"
    _library = "torch" if _has_torch() else "numpy"
    _tensor_class = TensorView

    def __init__(self, id: object = None, max_length: int = 1024, use_multidevice_executor: bool = False,
                 backend_type: CommunicatorBackend = CommunicatorBackend.nccl) -> None:
        flag("FusionDefinition: use_multidevice_executor", use_multidevice_executor)  # calls always run through it
        if not isinstance(backend_type, CommunicatorBackend):
            raise TypeError(f"FusionDefinition: backend_type is a CommunicatorBackend, not {shown(backend_type)}")
        super().__init__(id, max_length)
        self._captured: str | None = None
        self._segments: list[Segment] = []

    def _draw_seed(self):
        if self._library != "torch":
            return super()._draw_seed()
        import torch

        return int(torch.randint(1 << 62, (), dtype=torch.int64))

    # --- schedules ---

    def _require_complete(self):
        """A schedule command ends a definition that has outputs, as leaving its `with` does."""
        if not self._is_complete and not self._is_defining and (self._outputs or self._updated):
            self._complete()
        super()._require_complete()

    def _made(self, place, override_user_schedule):
        if not override_user_schedule and len(_tokamak.mesh_devices(self._native)) > 1:
            return rank_program(self)
        return super()._made(place, override_user_schedule)

    # --- calls ---

    def execute(self, inputs: Iterable[Any], *, capture_debug_output: bool = False, **options: Any) -> list[Any]:
        """tokamak.FusionDefinition.execute(), and with `capture_debug_output` the kernels of the call, for
        debug_output()."""
        self._captured = None
        outputs = super().execute(inputs, **options)
        if capture_debug_output:
            self._captured = self.last_scheduled_fusion_ir(
                override_user_schedule=options.get("override_user_schedule", False))
        return outputs

    def debug_output(self) -> str | None:
        """What the last call captured: its kernels as fusions with their schedules. None if it was not asked to."""
        return self._captured

    def manual_execute(self, inputs: Iterable[Any], heuristic_params: object = None) -> list[Any]:
        """execute(), with the schedule by hand."""
        return self.execute(inputs)

    def manual_validate(self, inputs: Iterable[Any], reference_outputs: Iterable[Any], **options: Any) -> None:
        """validate(), with the schedule by hand."""
        self.validate(inputs, reference_outputs, **options)

    def getValTolerances(self, inputs: Iterable[Any] = ()) -> list[tuple[float, float]]:  # noqa: N802 (their name)
        """What validate() allows for each output, absolute and relative."""
        return get_val_tolerances(self, inputs)

    def validate_definition(self) -> None:
        """Raises NotImplementedError for a definition without a call."""
        if self._calls == 0:
            raise NotImplementedError("Fusion is empty! Calls of the definition come first")

    # --- segments ---

    @property
    def segments(self) -> list[Segment]:
        """Those of the last segment(inputs)."""
        return list(self._segments)

    def segment(self, inputs: Iterable[Any]) -> list[Segment]:
        """The kernels that a call with inputs like these takes, in order of compilation. (Products by a library are
        none.) They are to look at: execute() runs the whole definition, in these segments."""
        self._segments = [Segment(each) for each in self._texts_for("segment", inputs, False, False)]
        return self.segments

    # --- parts ---

    @property
    def fusion(self) -> Fusion:
        """The definition as a Fusion."""
        return Fusion(self)

    @property
    def fec(self) -> FusionExecutorCache:
        """What executes it."""
        return FusionExecutorCache(self)

    @property
    def ke(self) -> KernelExecutor:
        """What executes it for inputs that it was compiled for."""
        executor = KernelExecutor()
        executor._definition = self if self._program is not None else None
        return executor

    # --- steps, which other frontends call one by one ---

    def _setup_definition(self):
        return self.__enter__()

    def _finalize_definition(self):
        self._complete()

    def _exist_schedule(self, inputs):
        return self._is_scheduled

    def _setup_schedule(self, inputs, overwrite_existing_schedule=False):
        self._require_schedulable()
        if overwrite_existing_schedule:
            self._drop_schedule()
        inputs = listed("_setup_schedule: inputs", inputs)
        self.sched._begin_call(definition.place_of(inputs, None), inputs)

    def _finalize_schedule(self, inputs):
        self.sched._end_call()

    def _setup_multidevice_schedule(self):
        self._require_schedulable()

    def _finalize_multidevice_schedule(self):
        self._require_schedulable()

    def _setup_segmentation(self, inputs):
        return len(self.segment(inputs))

    def _build_segment(self, segment_definition, segment_id) -> NoReturn:
        raise NotImplementedError("_build_segment: segments are to look at, as fd.segments; execute() runs them")

    def _finalize_segmentation(self):
        self._segments = []

    def _debug_output(self):
        return self.debug_output()

    def _fusion_ir(self):
        return self.fusion_ir()

    def _user_schedule_ir(self):
        return self.sched.user_schedule_ir()
