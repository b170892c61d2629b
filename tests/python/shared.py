"""What tests share."""
import threading

from tokamak import DataType, FusionDefinition


def run_in_threads(work, arguments):
    """Calls work(argument) for each argument, in a thread of its own, and waits for all."""
    threads = [threading.Thread(target=work, args=[each]) for each in arguments]
    for each in threads:
        each.start()
    for each in threads:
        each.join()


def define(build, *inputs):
    """A definition with inputs of (axes or None for a scalar, type)."""
    with FusionDefinition() as fd:
        made = [fd.define_scalar(dtype) if axes is None else fd.define_tensor([-1] * axes, contiguity=True, dtype=dtype)
                for axes, dtype in inputs]
        outputs = build(fd, *made)
        for each in outputs if isinstance(outputs, tuple) else (outputs,):
            fd.add_output(each)
    return fd


def updating():
    with FusionDefinition() as fd:
        x, y = (fd.define_tensor([-1, -1], contiguity=True) for _ in range(2))
        fd.add_output(x + y, alias_input=x)
        fd.add_output(x * 2)
    return fd


def viewing():
    """A definition whose outputs are one tensor twice, an input, views, and one that lies otherwise."""
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1], contiguity=True)
        y = x + 1
        for each in (y, y, x, fd.ops.expand(fd.ops.broadcast(x, [True, False, False]), [3, -1, -1])):
            fd.add_output(each)
        fd.add_output(fd.ops.permute(x, [1, 0]), stride_order=[0, 1])
    return fd


def made_again(fd):
    """A definition by what repr() says of another."""
    names = {"FusionDefinition": FusionDefinition, "DataType": DataType}
    text = repr(fd)
    exec(text, names)
    name = text.split("(")[0].removeprefix("def ")
    with FusionDefinition(id=name.removeprefix("fusion_") if "_" in name else None) as again:
        names[name](again)
    return again
