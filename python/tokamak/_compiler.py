"""The C compiler of the extra tokamak[compiler], for machines that have none."""
import importlib.util
import os

USUAL = ("cc", "gcc", "clang")


def offer_compiler():
    """Names the package ziglang's compiler in TOKAMAK_CC, where it is installed and there is no other: neither in the
    variable nor as cc, gcc or clang in PATH."""
    import shutil

    if "TOKAMAK_CC" in os.environ or any(shutil.which(name) for name in USUAL):
        return
    found = importlib.util.find_spec("ziglang")
    for folder in (found.submodule_search_locations or ()) if found is not None else ():
        program = os.path.join(folder, "zig")
        if os.access(program, os.X_OK):
            os.environ["TOKAMAK_CC"] = program
            return
