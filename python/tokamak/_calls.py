"""Calls of programs with arrays of any kind."""
import sys

from . import _tokamak
from ._arrays import make_outputs, maker_for


def run(program, inputs, out, last, place, library):
    """The outputs of a call, a list, made by the library of the first array or, without arrays, by `library`; or `out`,
    written. `last` notes the call; `place` is the program's device, as DLPack tells it."""
    outputs = program.try_execute(inputs, out, last)
    return run_any(program, inputs, out, last, place, library) if outputs is None else outputs


def run_any(program, inputs, out, last, place, library):
    """run(), where the fast way did not take the arrays."""
    require_memory(inputs)
    maker = maker_for(inputs if out is None else [*inputs, *out], place, library)
    call = program.call(inputs, maker.stream)
    if out is None:
        arrays, given = make_outputs(maker, call.output_layouts(), inputs)
        call.run(given, last)
        return [maker.given(each) for each in arrays]
    if len(out) != program.output_count:
        raise _tokamak.BindError(f"out: {len(out)} arrays for {program.output_count} outputs")
    for i, each in enumerate(out):
        if each is None:
            raise TypeError(f"out: entry {i} is None; out has an array for each output, or is left out")
    call.run(out, last)
    return list(out)


def require_memory(inputs):
    """Raises TypeError for what JAX and torch give a function in an array's place where they transform it."""
    jax, torch = sys.modules.get("jax"), sys.modules.get("torch")
    for i, each in enumerate(inputs):
        if jax is not None and isinstance(each, jax.core.Tracer):
            raise TypeError(f"input {i} is a tracer of JAX, and a program takes arrays; tokamak.jax.call(program) is "
                            "for jax.jit, jax.vmap and what else JAX traces") from None
        is_tensor = torch is not None and isinstance(each, torch.Tensor)
        if is_tensor and torch._C._functorch.is_functorch_wrapped_tensor(each):
            raise TypeError(f"input {i} is a tensor that torch.vmap or torch.func transforms, and a program takes "
                            "plain ones; tokamak.torch.op(program) is for torch.vmap and gradients") from None
