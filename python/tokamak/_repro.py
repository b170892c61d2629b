"""Scripts that repeat a call: the definition, its schedule, inputs like those of the call, and the call."""
from __future__ import annotations

import os
import threading
from typing import Any

from ._arguments import shown
from ._arrays import _root, name_of, strides_of
from ._config import config
from ._devices import CPU, CUDA
from ._types import BYTES, NUMPY_NAMES, data_type_of

# What no caller is to blame for. A host program that cannot be made comes of the schedule that the caller wrote.
_OURS = frozenset(("internal", "compile", "race", "device", "io"))

MOST_SCRIPTS = 16  # that errors of one process write

_lock = threading.Lock()
_written: set[str] = set()  # the scripts of errors
_is_limit_told = False

_ARRAYS = '''

def array(shape, strides, dtype, low, high, seed):
    """An array that lies like an input of the call, with random values."""
    random = np.random.default_rng(seed)
    span = 1 + sum((size - 1) * stride for size, stride in zip(shape, strides)) if 0 not in shape else 0
    if dtype == "bool":
        values = random.integers(0, 2, span) == 1
    elif dtype.startswith("int"):
        values = random.integers(low, high, span, endpoint=True).astype(dtype)
    else:
        values = random.standard_normal(span).astype(dtype)
    return np.lib.stride_tricks.as_strided(values, shape, [each * values.itemsize for each in strides])
'''
_SAVED = '''

def saved(name, strides, dtype):
    """An input of the call, as it lay."""
    values = inputs_of_call[name]
    span = 1 + sum((size - 1) * stride for size, stride in zip(values.shape, strides)) if values.size else 0
    memory = np.empty(span, dtype)
    result = np.lib.stride_tricks.as_strided(memory, values.shape, [each * memory.itemsize for each in strides])
    result[...] = values
    return result
'''


def is_ours(error: BaseException) -> bool:
    """Whether an error is the library's own, and not the caller's."""
    return getattr(error, "code", None) in _OURS


def describe_inputs(inputs: list[Any]) -> list[Any]:
    """What a script says of arrays and numbers: (type, sizes, strides, library, low, high) of an array."""
    return [each if isinstance(each, (bool, int, float)) else _described(each) for each in inputs]


def _described(array):
    if not hasattr(array, "dtype") or not isinstance(getattr(array, "shape", None), (tuple, list)):
        raise TypeError(f"a script takes arrays, with a shape and a dtype, and numbers, not {shown(array)}")
    dtype = data_type_of(array.dtype).value
    low, high = 0, 1
    if dtype in ("i64", "i32") and 0 not in array.shape:
        try:  # so that what are indices stay such
            low, high = int(array.min()), int(array.max())
        except Exception:  # of the caller's library, or of a GPU that does not work
            low, high = 0, 1
    return dtype, list(array.shape), strides_of(array), _root(array), low, high


def script(name: str, records: Any, schedule: Any, described: list[Any], place: tuple[int, int], call: str,
           saved_as: str | None = None) -> str:
    """The text of a script. `saved_as`: the file that has the inputs."""
    arrays = [each for each in described if not isinstance(each, (bool, int, float))]
    # On a GPU they are torch's, whatever they were.
    library = "torch" if place[0] == CUDA or any(each[3] == "torch" for each in arrays) else "numpy"
    device = name_of(place)
    has_halves = any(each[0] == "bf16" for each in arrays)
    imports = ["import numpy as np"]
    if library == "torch":
        imports.append("import torch")
    elif has_halves:
        imports.append("import ml_dtypes  # for bfloat16")
    names = sorted({"DataType", "FusionDefinition", *schedule.names()})
    lines = [f'"""Repeats a call of {name} on {device}. Written by tokamak."""', *imports, "",
             f"from tokamak import {', '.join(names)}"]
    body = _SAVED if saved_as is not None else _ARRAYS
    text = "\n".join(lines) + (body if arrays else "") + "\n\n"
    text += f"with FusionDefinition(id={_id_of(name)!r}) as fd:\n"
    text += "".join(f"    {line}\n" for line in records.lines() or ["pass"])
    text += "".join(f"{line}\n" for line in schedule.lines())
    if saved_as is not None and arrays:
        text += f"\ninputs_of_call = np.load({saved_as!r})"
    text += "\ninputs = [\n"
    text += "".join(f"    {_input_text(number, each, library, device, saved_as)},\n"
                    for number, each in enumerate(described))
    options = "" if place == (CPU, 0) or (arrays and place[0] == CUDA) else f", device={device!r}"
    return text + f"]\noutputs = fd.{call.replace(')', options + ')')}\n" + "for each in outputs:\n    print(each)\n"


def _id_of(name):
    return name.removeprefix("fusion_") if name.startswith("fusion_") else None if name == "fusion" else name


def _input_text(number, described, library, device, saved_as):
    if isinstance(described, (bool, int, float)):
        return f"float({str(described)!r})" if isinstance(described, float) and described - described != 0 else (
            repr(described))
    dtype, sizes, strides, _, low, high = described
    kind = NUMPY_NAMES[dtype]
    carried = "float32" if dtype == "bf16" else kind
    made = (f"array({sizes}, {strides}, {carried!r}, {low}, {high}, {number})" if saved_as is None else
            f"saved('input{number}', {strides}, {carried!r})")
    if library == "torch":
        device = device if device.startswith("cuda") else "cpu"
        to = f"dtype=torch.{kind}, device={device!r}"
        if dtype == "bf16" or device != "cpu":
            return f"torch.empty_strided({sizes}, {strides}, {to}).copy_(torch.from_numpy({made}))"
        return f"torch.from_numpy({made})"
    if dtype == "bf16":
        span = 1 + sum((size - 1) * stride for size, stride in zip(sizes, strides)) if 0 not in sizes else 0
        return (f"np.lib.stride_tricks.as_strided(np.zeros({span}, ml_dtypes.bfloat16), {sizes}, "
                f"{[each * BYTES[dtype] for each in strides]})")
    return made


def folder() -> str:
    """Where scripts are written."""
    import tempfile

    return config.get("repro_folder") or tempfile.gettempdir()


def write(name: str, text: str) -> str:
    """Writes a script; gives its path. Equal scripts have one file. Raises OSError."""
    return _write(name, "py", text.encode())


def _write(name, ending, content):
    import hashlib

    digest = hashlib.sha256(content).hexdigest()[:12]
    path = os.path.join(folder(), f"tokamak_repro_{name[:60]}_{digest}.{ending}")
    os.makedirs(folder(), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)
    return path


def save_inputs(name: str, inputs: list[Any]) -> str:
    """Writes the arrays among the inputs into a file of numpy.savez; gives its path. Raises OSError; TypeError for what
    has no elements."""
    import io

    import numpy as np

    arrays = {f"input{number}": _as_numpy(np, each) for number, each in enumerate(inputs)
              if not isinstance(each, (bool, int, float))}
    for number, each in enumerate(inputs):
        if getattr(arrays.get(f"input{number}"), "dtype", None) == object:
            raise TypeError(f"input {number}, a {type(each).__name__}, has no elements that can be saved")
    content = io.BytesIO()
    np.savez(content, **arrays)
    return _write(name, "npz", content.getvalue())


def _as_numpy(np, array):
    if _root(array) == "torch":
        array = array.detach().cpu()
        return (array.float() if "bfloat16" in str(array.dtype) else array).numpy()
    array = array.get() if _root(array) == "cupy" else np.asarray(array)
    return array.astype(np.float32) if "bfloat16" in str(array.dtype) else array


def note_on(error: BaseException, write_script: Any) -> None:
    """Adds to an error of the library where the script is that repeats its call: of at most MOST_SCRIPTS, after which
    one error says so. What goes wrong meanwhile is told there, too, and raises nothing."""
    global _is_limit_told
    with _lock:
        if len(_written) >= MOST_SCRIPTS:
            if not _is_limit_told:
                _is_limit_told = True
                error.add_note(f"tokamak: no script repeats this call: {MOST_SCRIPTS} were written by this process, "
                               "which is the most; repro_script_for(inputs) gives one.")
            return
        try:
            path = write_script()
        except Exception as problem:  # the error that matters is the other one
            error.add_note(f"tokamak: no script could be written that repeats the call ({problem})")
            return
        _written.add(path)
    error.add_note(f"tokamak: {path} repeats the call. TOKAMAK_REPRO=off writes no such scripts, "
                   "TOKAMAK_REPRO_INPUTS=on the inputs' values, too (see tokamak.config).")


def _begin_in_child():
    global _lock, _is_limit_told
    _lock = threading.Lock()
    _written.clear()
    _is_limit_told = False


os.register_at_fork(after_in_child=_begin_in_child)
