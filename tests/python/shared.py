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


def made_again(fd):
    """A definition by what repr() says of another."""
    names = {"FusionDefinition": FusionDefinition, "DataType": DataType}
    text = repr(fd)
    exec(text, names)
    name = text.split("(")[0].removeprefix("def ")
    with FusionDefinition(id=name.removeprefix("fusion_") if "_" in name else None) as again:
        names[name](again)
    return again
