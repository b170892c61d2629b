"""Calls of programs by XLA's executables, through its foreign function interface."""
from __future__ import annotations

import hashlib
import os
import struct
import threading
import weakref
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .. import _tokamak
from .._arguments import plain, shown
from .._devices import CPU, CUDA
from .._fuse import Fused
from .._tracing import _Captured
from .._types import DataType, library_type
from .._values import Tensor
from ..definition import FusionDefinition

_TARGET = "tokamak_call"
_OPERAND, _INTEGER, _REAL = range(3)  # how a scalar input is told
_WIDE = (DataType.Int, DataType.Double)


def call(program: FusionDefinition | Fused, *args: Any,
         backward: FusionDefinition | Fused | Callable[..., Any] | None = None, **kwargs: Any) -> Any:
    """Runs a program on arrays of JAX: eagerly, and as one operation inside jax.jit and what else JAX compiles.

    `program`: a FusionDefinition, with an argument for each of its inputs, or a function of tokamak.fuse, with its own
    arguments, where NumPy's arrays are as jnp.asarray() makes them. A definition gives a list of its outputs, then the
    new values of inputs that it updates: JAX's arrays do not change, and XLA copies an input first unless nobody else
    needs it. A function gives its own result. Outputs are row-major. A number is a constant of what is compiled; an
    array without axes in its place is not.

    Shapes, types and what the program says of them are checked when JAX traces, where the program is also compiled for
    the default device. Under jax.vmap calls are made one after the other. `backward` makes it differentiable: a
    program, or any function of JAX, that takes the arrays and numbers of the call, then a gradient for each output with
    fractions, and gives a gradient for each array with fractions. Any threads may call it; an executable in a file runs
    where the process has traced the same call."""
    if not (backward is None or isinstance(backward, FusionDefinition) or callable(backward)):
        raise TypeError("tokamak.jax.call: backward is a FusionDefinition, a function of tokamak.fuse or one of JAX, "
                        f"not {shown(backward)}")
    if isinstance(program, Fused):
        entry, leaves = _traced(program, args, kwargs)

        def run(leaves):
            arrays = _bound(entry.trace.definition, entry._inputs(leaves)) if entry._execute is not None else ()
            return entry._result_of(arrays, leaves)
    elif isinstance(program, FusionDefinition):
        if kwargs:
            raise TypeError(f"tokamak.jax.call: a definition has no argument {', '.join(kwargs)}; its inputs are told "
                            "by their order")
        leaves = [each for given in args for each in (given if isinstance(given, (list, tuple)) else (given,))]

        def run(leaves):
            return _bound(program, leaves)
    else:
        raise TypeError("tokamak.jax.call takes a FusionDefinition or a function of tokamak.fuse, not "
                        f"{shown(program)}")
    return _differentiable(run, leaves, backward)


# --- functions that are traced ---


def _traced(fused, args, kwargs):
    """The entry of a function for these arguments, and their arrays and numbers."""
    entry, leaves = fused._entry_for(args, kwargs, _as_in_jax)
    if any(isinstance(each, _Captured) and isinstance(each.array, jax.core.Tracer) for each in entry.trace.sources):
        fused._forget(entry)
        raise TypeError(f"tokamak.jax.call: {fused._name} knows an array by itself that JAX is tracing; such arrays "
                        "are arguments")
    return entry, leaves


# --- gradients ---


def _differentiable(run, leaves, backward):
    """run(leaves), with a rule for gradients where JAX traces."""
    if not any(isinstance(each, jax.core.Tracer) for each in leaves):
        return run(leaves)
    places = [i for i, each in enumerate(leaves) if not isinstance(each, (bool, int, float))]
    arrays = [_as_array(leaves[i]) for i in places]

    def with_arrays(arrays):
        given = dict(zip(places, arrays))
        return [given.get(i, each) for i, each in enumerate(leaves)]

    def forward(*arrays):
        return run(with_arrays(arrays))

    if backward is None:
        return _without_gradient(forward, "no gradient flows through a program; backward=program tells it, or "
                                 "jax.lax.stop_gradient leaves it out")(*arrays)
    forward = _without_gradient(forward, "a program with a backward has first derivatives alone, by reverse mode; "
                                "jax.grad and jax.vjp are legal")

    def backwards(arrays, gradients):
        gradients = [each for each in jax.tree.leaves(gradients) if each.dtype != jax.dtypes.float0]
        return _gradients(backward, with_arrays(arrays), arrays, gradients)

    function = jax.custom_vjp(forward)
    function.defvjp(lambda *arrays: (forward(*arrays), arrays), backwards)
    return function(*arrays)


def _without_gradient(function, reason):
    """The function, which tells this reason where it is differentiated."""
    function = jax.custom_jvp(function)

    def refuse(arrays, tangents):
        raise TypeError(f"tokamak.jax.call: {reason}")

    function.defjvp(refuse)
    return function


def _gradients(backward, leaves, arrays, gradients):
    """One for each array; those of integers and truths have no elements."""
    is_program = isinstance(backward, (Fused, FusionDefinition))
    made = call(backward, *leaves, *gradients) if is_program else backward(*leaves, *gradients)
    made = list(made) if isinstance(made, (list, tuple)) else [made]
    wanted = [jnp.issubdtype(each.dtype, jnp.floating) for each in arrays]
    if len(made) != sum(wanted):
        raise TypeError(f"tokamak.jax.call: backward gives {len(made)} gradients; legal is one for each of the "
                        f"{sum(wanted)} arrays with fractions")
    given = iter(made)
    return tuple(next(given) if is_wanted else np.zeros(each.shape, jax.dtypes.float0)
                 for is_wanted, each in zip(wanted, arrays))


# --- operations of XLA ---


def _bound(definition, inputs):
    """The outputs of a definition, as an operation of what JAX traces now, then the inputs that it updates."""
    _begin()
    with definition._lock:
        definition._define()
    if definition._seed is not None:
        raise _tokamak.BindError("tokamak.jax.call: random numbers of the definition have no seed, and would be the "
                                 "same whenever compiled code runs; give them rng_seed, an input")
    operands, numbers = _operands(definition, inputs)
    updated = list(dict.fromkeys(definition._updated))
    place = (CUDA, _ordinals()[0]) if jax.default_backend() == "gpu" else (CPU, 0)
    key = _key_of(definition, updated, operands)
    results = [jax.ShapeDtypeStruct(sizes, _jax_type(dtype, i)) for i, (dtype, sizes) in enumerate(
        _outputs(definition, place, operands, numbers))]
    number_of = {i: number for number, i in enumerate(i for i, each in enumerate(operands) if each is not None)}
    aliases = {number_of[i]: len(results) + k for k, i in enumerate(updated)}
    results += [jax.ShapeDtypeStruct(operands[i].shape, operands[i].dtype) for i in updated]
    attributes = {"numbers": np.array([each for pair in numbers for each in pair], np.int64)} if numbers else {}
    function = jax.ffi.ffi_call(_TARGET, results, vmap_method="sequential", input_output_aliases=aliases)
    return function(*(each for each in operands if each is not None), program=key, **attributes)


def _operands(definition, inputs):
    """For each input an array, or None for a number; and how the scalar inputs are told."""
    if len(inputs) != len(definition._inputs):
        raise _tokamak.BindError(f"tokamak.jax.call: {len(inputs)} inputs for a definition that has "
                                 f"{len(definition._inputs)}")
    operands, numbers = [], []
    for i, (made, given) in enumerate(zip(definition._inputs, inputs)):
        given = plain(given) if isinstance(given, np.generic) else given
        is_number = isinstance(given, (bool, int, float))
        if isinstance(made, Tensor):
            if is_number and not made.ndim:
                given = np.asarray(given, library_type(made.dtype, "jax"))
            operands.append(_required(_as_array(given), made, i))
        elif is_number:
            operands.append(None)
            numbers.append(_told(given, made, i))
        else:
            operands.append(_required_scalar(_as_array(given), made, i))
            numbers.append((_OPERAND, 0))
    return operands, numbers


def _as_in_jax(leaf):
    """An array of NumPy as one of JAX, which has no wide types without jax_enable_x64."""
    return jnp.asarray(leaf) if isinstance(leaf, (np.ndarray, np.generic)) else leaf


def _as_array(given):
    return given if isinstance(given, jax.Array) else jnp.asarray(given)


def _required(array, made, i):
    symbols = [each for each in array.shape if not isinstance(each, int)]
    if symbols:
        raise NotImplementedError(f"tokamak.jax.call: input {i} has the size {symbols[0]}, a symbol of jax.export; "
                                  "legal are sizes that JAX knows when it traces")
    wanted = library_type(made.dtype, "jax")
    if array.dtype != wanted:
        is_narrowed = made.dtype in _WIDE and not jax.config.jax_enable_x64
        raise _tokamak.BindError(f"tokamak.jax.call: input {i} has elements of type {array.dtype}, and the "
                                 f"definition's are {wanted}" +
                                 (", which JAX has with jax_enable_x64 alone" if is_narrowed else ""))
    return array


def _required_scalar(array, made, i):
    is_legal = array.shape == () and any(array.dtype == library_type(dtype, "jax") for dtype in (
        (DataType.Bool, DataType.Int32, DataType.Int) if made.dtype in (DataType.Int, DataType.Int32, DataType.Bool)
        else (DataType.Bool, DataType.Int32, DataType.Int, DataType.Half, DataType.BFloat16, *_FLOATS)))
    if not is_legal:
        raise _tokamak.BindError(f"tokamak.jax.call: input {i} is a scalar of type {made.dtype}, and {array.dtype}"
                                 f"{list(array.shape)} was given; legal are numbers and arrays without axes")
    return array


_FLOATS = (DataType.Float, DataType.Double)


def _told(number, made, i):
    """A number as two integers."""
    if made.dtype in _FLOATS or isinstance(number, float):
        return _REAL, struct.unpack("<q", struct.pack("<d", number))[0]
    if not -2**63 <= number < 2**63:
        raise _tokamak.BindError(f"tokamak.jax.call: input {i}: the number does not fit 64 bits")
    return _INTEGER, int(number)


def _jax_type(dtype, i):
    if dtype in _WIDE and not jax.config.jax_enable_x64:
        raise _tokamak.BindError(f"tokamak.jax.call: output {i} has elements of type {library_type(dtype, 'jax')}, "
                                 "which JAX has with jax_enable_x64 alone")
    return library_type(dtype, "jax")


# --- shapes ---


def _outputs(definition, place, operands, numbers):
    """The type and the sizes of each output."""
    scalars = [made for made in definition._inputs if not isinstance(made, Tensor)]
    outputs = _outputs_without(definition, operands, numbers) if any(kind == _OPERAND for kind, _ in numbers) else None
    if all(kind != _OPERAND or made.dtype in _FLOATS for (kind, _), made in zip(numbers, scalars)):
        arrays = [(made.dtype.value, list(each.shape)) for made, each in zip(definition._inputs, operands)
                  if isinstance(made, Tensor)]
        program = definition._compiled_row_major(place, operands)
        layouts = program.layouts_for(arrays, [_number(*each) if each[0] != _OPERAND else 0.0 for each in numbers])
        return [(DataType(layout[4]), tuple(layout[5])) for layout in layouts]
    return outputs


def _outputs_without(definition, operands, numbers):
    """The same where calls find out what a scalar is: sizes may not depend on it."""
    known, told = _tokamak.KnownSizes(definition._native), iter(numbers)
    for made, each in zip(definition._inputs, operands):
        if isinstance(made, Tensor):
            known.bind(made._value, list(each.shape))
        elif (number := next(told))[0] != _OPERAND:
            known.bind_number(made._value, _number(*number))
    outputs = []
    for i, output in enumerate(definition._outputs):
        sizes = tuple(known.evaluate(definition._native.size(output._value, axis)) for axis in range(output.ndim))
        if None in sizes:
            raise _tokamak.BindError(f"tokamak.jax.call: the size of axis {sizes.index(None)} of output {i} depends on "
                                     "an array; JAX has to know it when it traces, so a number is legal there")
        outputs.append((output.dtype, sizes))
    return outputs


def _number(kind, bits):
    return struct.unpack("<d", struct.pack("<q", bits))[0] if kind == _REAL else bits


# --- programs by key ---


class _Key(str):
    """The key of a program, which lives as long as any trace that names it; executables keep the program besides."""

    program = None


_keys = weakref.WeakValueDictionary()
_keys_of = weakref.WeakKeyDictionary()  # by definition
_lock = threading.Lock()
_is_registered = False


def _key_of(definition, updated, operands):
    places = [(CPU, 0), *((CUDA, each) for each in _ordinals())]
    made_for = [definition._row_major_key(place) for place in places]  # with the options that count here
    programs = [definition._compiled_row_major(place, operands) for place in places]
    with _lock:
        key = _keys_of.get(definition)
        if key is not None and key.made_for == made_for:
            return key
    native = definition._native
    is_scheduled = definition._is_scheduled
    text = native.scheduled_text() if is_scheduled else native.text()
    name = hashlib.sha256(repr((text, is_scheduled, updated, made_for)).encode()).hexdigest()
    with _lock:
        key = _keys.get(name)
        if key is None:
            key = _Key(name)
            key.made_for = made_for
            key.program = _tokamak.XlaProgram(name, programs, updated)
            _keys[name] = key
        _keys_of[definition] = key
    return key


def _ordinals():
    """The GPUs that JAX runs on in this process."""
    if jax.default_backend() != "gpu":
        return []
    return [each.local_hardware_id for each in jax.local_devices()]


def _begin():
    """Tells XLA of the handler. Raises NotImplementedError for a JAX that is too old."""
    global _is_registered
    with _lock:
        if _is_registered:
            return
        if not hasattr(jax, "ffi") or not hasattr(jax.ffi, "register_ffi_type"):
            raise NotImplementedError(f"tokamak.jax.call needs jax.ffi.register_ffi_type, which jax {jax.__version__} "
                                      "does not have; it is tested with 0.10")
        for platform in ("cpu", "CUDA"):
            handler = _tokamak.xla_handler(platform)
            jax.ffi.register_ffi_type(_TARGET, _tokamak.xla_state_type(platform), platform=platform)
            jax.ffi.register_ffi_target(_TARGET, {"instantiate": handler, "execute": handler}, platform=platform)
        _is_registered = True


def _begin_in_child():
    global _lock, _keys, _keys_of
    _lock = threading.Lock()
    _of_parents.append((list(_keys.values()), _keys_of))
    _keys, _keys_of = weakref.WeakValueDictionary(), weakref.WeakKeyDictionary()
    _tokamak.xla_forget_programs()


_of_parents = []  # what processes that were forked before had
os.register_at_fork(after_in_child=_begin_in_child)
