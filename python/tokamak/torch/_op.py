"""Programs as operators of torch, which torch.compile and torch.export keep whole."""
from __future__ import annotations

import inspect
import itertools
import re
import weakref
from collections.abc import Callable
from typing import Any

import torch

from .. import _tokamak
from .._arguments import shown
from .._arrays import maker_for, place_of
from .._devices import CPU, CUDA
from .._fuse import Fused, _is_same
from .._types import DataType, data_type_of, library_type
from .._values import Tensor
from ..definition import FusionDefinition

_count = itertools.count()
_WORDS = {float: "float", int: "SymInt", bool: "bool"}  # of torch's schemas


def op(program: FusionDefinition | Fused, name: str | None = None, *,
       backward: FusionDefinition | Fused | Callable[..., Any] | None = None) -> torch.library.CustomOpDef:
    """Registers a program as an operator of torch, and gives it: a function that works eagerly, in torch.compile (as
    one node, sizes may be symbols), in torch.export, under torch.vmap (calls one after the other) and with autograd;
    not under torch.func.grad, which takes no operator that torch.library.custom_op makes.

    `program`: a FusionDefinition, whose inputs are the arguments, or a function of tokamak.fuse. Arguments of such a
    function are tensors, or numbers where an annotation or a default says int, float or bool; it gives one tensor, or
    as many as its annotation `tuple[Tensor, Tensor]` says. `name`: "tokamak::name" or "name", in torch.ops; one that is
    registered again replaces the former, as torch does. Without one, each has its own.

    Outputs are contiguous, in memory of their own; inputs lie as the definition says. Those that it updates are
    written, as the operator's schema says. `backward` makes it differentiable: a program, or a function of torch, that
    takes the arguments, then a gradient for each output with fractions, and gives one for each tensor with fractions;
    what is given back is torch's CustomOpDef, whose register_autograd() takes other rules. Any threads may call it."""
    if isinstance(program, Fused):
        made = _FusedOperator(program)
    elif isinstance(program, FusionDefinition):
        made = _DefinedOperator(program)
    else:
        raise TypeError(f"tokamak.torch.op takes a FusionDefinition or a function of tokamak.fuse, not "
                        f"{shown(program)}")
    name = _full_name(name, made.name)
    if backward is not None and made.mutated:
        raise ValueError(f"tokamak.torch.op: {name} updates its inputs, and torch has no gradients for such operators; "
                         "backward is legal for others")
    registered = _registered(made, name)
    if isinstance(backward, Fused):
        backward = _registered(_FusedOperator(backward, made.kinds), f"{name}_backward")
    elif isinstance(backward, FusionDefinition):
        backward = _registered(_DefinedOperator(backward), f"{name}_backward")
    if backward is not None:
        _register_backward(registered, backward)
    return registered


def _registered(made, name):
    registered = torch.library.custom_op(name, made.run, mutates_args=made.mutated, schema=made.schema, tags=made.tags)
    registered.register_fake(made.fake)
    registered.register_vmap(_vmap_of(registered, made))
    return registered


def _full_name(name, default):
    name = f"{default}_{next(_count)}" if name is None else name
    if not isinstance(name, str) or not re.fullmatch(r"([A-Za-z_]\w*::)?[A-Za-z_]\w*", name, re.ASCII):
        raise ValueError(f"tokamak.torch.op: {shown(name)} is no name of an operator; legal are 'name' and "
                         "'library::name'")
    return name if "::" in name else f"tokamak::{name}"


# --- definitions ---


class _DefinedOperator:
    """What torch is told of a definition."""

    def __init__(self, definition):
        with definition._lock:
            definition._define()
        self._program = _Owning(definition)
        self.name = definition._name
        updated = {id(definition._inputs[i]) for i in definition._updated}
        inputs = [(f"a{i}", made) for i, made in enumerate(definition.inputs())]
        self.mutated = [name for name, made in inputs if id(made) in updated]
        self.kinds = [_kind_of(made) for _, made in inputs]
        parameters = ", ".join(f"Tensor(m{i}!) {name}" if name in self.mutated else f"{self.kinds[i]} {name}"
                               for i, (name, _) in enumerate(inputs))
        self.schema = f"({parameters}) -> {_returned(len(definition._outputs))}"
        self.tags = [torch.Tag.nondeterministic_seeded] if definition._seed is not None else []

    def run(self, *inputs):
        return _as_returned(self._program.execute(self._program.definition._with_seed(list(inputs))))

    def fake(self, *inputs):
        definition = self._program.definition
        return _as_returned(self._program.abstract(definition._with_seed(list(inputs))))


def _kind_of(made):
    if isinstance(made, Tensor):
        return "Tensor"
    return _WORDS[{DataType.Bool: bool, DataType.Int: int, DataType.Int32: int}.get(made.dtype, float)]


def _returned(count):
    return "Tensor" if count == 1 else f"({', '.join(['Tensor'] * count)})"


def _as_returned(outputs):
    return None if not outputs else outputs[0] if len(outputs) == 1 else tuple(outputs)


# --- functions of tokamak.fuse ---


class _FusedOperator:
    """What torch is told of a function, which its calls trace."""

    mutated, tags = (), ()

    def __init__(self, fused, kinds=None):
        """`kinds`: of the first arguments of a backward, which gives any number of tensors."""
        self._fused = fused
        self._programs = weakref.WeakKeyDictionary()  # by entry, which the function may forget
        self.name = re.sub(r"\W", "_", fused._name, flags=re.ASCII).lstrip("_") or "function"
        signature = inspect.signature(fused._function)
        parameters = list(signature.parameters.values())
        self._returned = _count_returned(signature.return_annotation) if kinds is None else None
        self.kinds = [_kind_told(each, self.name) for each in parameters]
        if kinds is not None:
            self.kinds[:len(kinds)] = kinds[:len(parameters)]
        told = ", ".join(f"{kind} {each.name}{_default_of(each, kind)}" for each, kind in zip(parameters, self.kinds))
        self.schema = f"({told}) -> {'Tensor[]' if self._returned is None else _returned(self._returned)}"

    def _program_of(self, entry):
        program = self._programs.get(entry)
        return program or self._programs.setdefault(entry, _Owning(entry.trace.definition))

    def run(self, *args):
        entry, leaves = self._fused._entry_for(args, {})
        return self._result(entry, self._program_of(entry).execute(entry._inputs(leaves)), leaves)

    def fake(self, *args):
        with_hints = tuple(_with_hints(each) for each in args)
        entry, leaves = self._fused._entry_for(with_hints, {})
        given = [each for each in args if isinstance(each, (torch.Tensor, int, float, torch.SymInt, torch.SymFloat)) and
                 not isinstance(each, bool)]
        outputs = self._program_of(entry).abstract(entry._inputs(given), entry.trace.guards)
        return self._result(entry, outputs, leaves)

    def _result(self, entry, outputs, leaves):
        result = entry._result_of(outputs, leaves)
        given = list(result) if isinstance(result, (list, tuple)) else [result]
        if not all(isinstance(each, torch.Tensor) for each in given) or self._returned not in (None, len(given)):
            raise TypeError(f"tokamak.torch.op: {self.name} gives {shown(entry._returned)}, and its annotation says "
                            f"{self._returned} tensors; legal is a tuple of as many as it says, or one")
        return given if self._returned is None else _as_returned(given)


def _kind_told(parameter, name):
    """What an annotation or a default says."""
    default, kind = parameter.default, parameter.annotation
    if parameter.kind not in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
        raise TypeError(f"tokamak.torch.op: {name} has the argument {parameter}; operators have positional ones")
    kind = {"int": int, "float": float, "bool": bool}.get(kind, kind) if isinstance(kind, str) else kind
    if kind not in _WORDS and default is not parameter.empty:
        kind = type(default)
        if kind not in _WORDS:
            raise TypeError(f"tokamak.torch.op: {name} has the argument {parameter}; legal defaults are numbers")
    return _WORDS.get(kind, "Tensor")


def _default_of(parameter, kind):
    if parameter.default is parameter.empty or kind == "Tensor":
        return ""
    return f"={float(parameter.default) if kind == 'float' else parameter.default!r}"


def _count_returned(annotation):
    """How many tensors a function says that it gives."""
    if isinstance(annotation, str):
        found = re.fullmatch(r"[Tt]uple\[(.*)\]", annotation.strip())
        return found[1].count(",") + 1 if found else 1
    return len(getattr(annotation, "__args__", ())) if getattr(annotation, "__origin__", None) is tuple else 1


def _with_hints(value):
    """A tensor without elements, or a number, as in the call that torch traces."""
    if isinstance(value, torch.Tensor):
        sizes = [_hint(each) for each in value.shape]
        return torch.empty_strided(sizes, [_hint(each) for each in value.stride()], dtype=value.dtype, device="meta")
    return _hint(value) if isinstance(value, torch.SymInt) else value


def _hint(size):
    if isinstance(size, int):
        return size
    if size.node.hint is None:
        raise NotImplementedError("tokamak.torch.op: a function of tokamak.fuse is traced with sizes, and one of these "
                                  "is known only when the program runs; a FusionDefinition takes it")
    return 1 if size == 1 else int(size.node.hint)  # torch remembers the answer


# --- running, and shapes alone ---


class _Owning:
    """A definition whose outputs are contiguous and have memory of their own. Any threads may use it."""

    def __init__(self, definition):
        self.definition = definition
        self._place, self._last = None, _tokamak.LastCall()
        with definition._lock:
            self._sizes = [[definition._native.size(output._value, axis) for axis in range(output.ndim)]
                           for output in definition._outputs]

    def execute(self, inputs):
        """The outputs of a call with tensors and numbers."""
        if not self.definition._outputs and not self.definition._updated:
            return []  # of a function that gives numbers
        definition = self.definition  # a forked child does not have its programs
        program = definition._row_major_programs.get(definition._row_major_key(self._place))
        outputs = None if program is None else program.try_execute(inputs, None, self._last)
        if outputs is None:
            outputs = self._execute(inputs)
        return [_contiguous(each) for each in outputs]

    def _execute(self, inputs):
        place = self._place = place_of(inputs, None)
        program = self.definition._compiled_row_major(place, inputs)
        outputs = program.try_execute(inputs, None, self._last)
        if outputs is not None:
            return outputs
        maker = maker_for(inputs, place, "torch")
        call = program.call(inputs, maker.stream)
        outputs = [torch.empty(layout[5], dtype=library_type(DataType(layout[4]), "torch"), device=maker._device)
                   for layout in call.output_layouts()]
        call.run(outputs, self._last)
        return outputs

    def abstract(self, inputs, guards=()):
        """Tensors like the outputs, for tensors without elements, whose sizes and numbers may be symbols."""
        definition = self.definition
        tensors = [each for each in inputs if isinstance(each, torch.Tensor)]
        self._require(inputs)
        if all(type(size) is int for each in inputs for size in _numbers_of(each)):
            self._prepare(inputs, tensors)
        device = self._device_of(tensors)
        with definition._lock:
            known = _tokamak.SymbolicSizes(definition._native)
            for made, each in zip(definition._inputs, inputs):
                if isinstance(made, Tensor):
                    known.bind(made._value, list(each.shape) if isinstance(each, torch.Tensor) else [])
                else:
                    known.bind_number(made._value, each)
            for value, number in guards:
                guarded = self._evaluated(known, value, inputs)
                if not _is_same(bool(guarded) if isinstance(guarded, torch.SymBool) else guarded, number):
                    raise _tokamak.BindError(f"{definition._name}: sizes do not give {number} as in the first call")
            shapes = [[self._evaluated(known, size, inputs) for size in sizes] for sizes in self._sizes]
        return [torch.empty(shape, dtype=library_type(output.dtype, "torch"), device=device)
                for shape, output in zip(shapes, definition._outputs)]

    def _device_of(self, tensors):
        # (A number of the host goes with tensors of a GPU.)
        devices = {each.device for each in tensors if each.ndim or each.device.type != "cpu"}
        if len(devices) > 1:
            raise _tokamak.BindError(f"{self.definition._name}: the tensors are on {' and '.join(map(str, devices))}; "
                                     "legal are tensors of one device")
        return devices.pop() if devices else torch.device("cpu")

    def _evaluated(self, known, value, inputs):
        number = known.evaluate(value)
        if number is not None:
            return number
        sizes = _tokamak.KnownSizes(self.definition._native)  # of more than arithmetic: symbols become numbers
        for made, each in zip(self.definition._inputs, inputs):
            if isinstance(made, Tensor):
                sizes.bind(made._value, [int(size) for size in each.shape])
            else:
                sizes.bind_number(made._value, int(each) if isinstance(each, torch.SymInt) else each)
        return sizes.evaluate(value)

    def _require(self, inputs):
        for i, (made, each) in enumerate(zip(self.definition._inputs, inputs)):
            if isinstance(made, Tensor) and isinstance(each, torch.Tensor) and data_type_of(each.dtype) != made.dtype:
                raise _tokamak.BindError(f"{self.definition._name}: input {i} has elements of type {each.dtype}, and "
                                         f"the definition's are {library_type(made.dtype, 'torch')}")

    def _prepare(self, inputs, tensors):
        """Compiles for these sizes, and finds what is wrong with them, where the device is there."""
        device = self._device_of(tensors)
        if device.type != "cpu" and not (device.type == "cuda" and torch.cuda.is_available()):
            return
        place = (CPU, 0) if device.type == "cpu" else (CUDA, device.index or 0)
        arrays = [(made.dtype.value, *([int(number) for number in numbers] for numbers in (
                      (each.shape, each.stride()) if isinstance(each, torch.Tensor) else ([], []))))
                  for made, each in zip(self.definition._inputs, inputs) if isinstance(made, Tensor)]
        numbers = [each for made, each in zip(self.definition._inputs, inputs) if not isinstance(made, Tensor)]
        self.definition._compiled_row_major(place, inputs).layouts_for(arrays, numbers)


def _numbers_of(value):
    """What may be a symbol in it."""
    return value.shape if isinstance(value, torch.Tensor) else [int(value) if isinstance(value, float) else value]


def _contiguous(tensor):
    """With the strides of a new tensor."""
    shape = tensor.shape
    if tensor.is_contiguous():
        if 0 not in shape and 1 not in shape:
            return tensor
        strides = torch.empty(shape, device="meta").stride()
        return tensor if tensor.stride() == strides else tensor.as_strided(shape, strides)
    return tensor.contiguous()


# --- what autograd and vmap ask for ---


def _vmap_of(registered, made):
    def vmap(info, dims, *args):
        if made.mutated:
            raise NotImplementedError(f"tokamak.torch.op: {registered._qualname} updates its inputs, and is not there "
                                      "under torch.vmap; legal are operators that give what they compute")
        if info.batch_size == 0:
            empty = made.fake(*(each if dim is None else each.new_empty(each.shape[:dim] + each.shape[dim + 1:])
                                for each, dim in zip(args, dims)))
            if isinstance(empty, torch.Tensor):
                return empty.new_empty((0, *empty.shape)), 0
            return tuple(each.new_empty((0, *each.shape)) for each in empty), (0,) * len(empty)
        calls = []
        for i in range(info.batch_size):
            calls.append(registered(*(each if dim is None else each.select(dim, i) for each, dim in zip(args, dims))))
        if isinstance(calls[0], torch.Tensor):
            return torch.stack(calls), 0
        return tuple(torch.stack(each) for each in zip(*calls)), (0,) * len(calls[0])

    return vmap


def _register_backward(registered, backward):
    def setup(ctx, inputs, output):
        ctx.numbers = [None if isinstance(each, torch.Tensor) else each for each in inputs]
        ctx.save_for_backward(*(each for each in inputs if isinstance(each, torch.Tensor)))

    def backwards(ctx, *gradients):
        saved = iter(ctx.saved_tensors)
        inputs = [next(saved) if each is None else each for each in ctx.numbers]
        made = backward(*inputs, *(each.contiguous() for each in gradients if each.is_floating_point()))
        made = list(made) if isinstance(made, (list, tuple)) else [made]
        wanted = [isinstance(each, torch.Tensor) and each.is_floating_point() for each in inputs]
        if len(made) != sum(wanted):
            raise TypeError(f"tokamak.torch.op: backward of {registered._qualname} gives {len(made)} gradients; legal "
                            f"is one for each of the {sum(wanted)} tensors with fractions")
        given = iter(made)
        return tuple(next(given) if each else None for each in wanted)

    registered.register_autograd(backwards, setup_context=setup)
