"""Calls of programs with arrays of any kind."""
from . import _tokamak
from ._arrays import make_outputs, maker_for


def run(program, inputs, out, last, place, library):
    """The outputs of a call, a list, made by the library of the first array or, without arrays, by `library`; or `out`,
    written. `last` notes the call; `place` is the program's device, as DLPack tells it."""
    outputs = program.try_execute(inputs, out, last)
    return run_any(program, inputs, out, last, place, library) if outputs is None else outputs


def run_any(program, inputs, out, last, place, library):
    """run(), where the fast way did not take the arrays."""
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
