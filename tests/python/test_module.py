"""What the extension module refuses by itself, whoever calls it."""
import subprocess
import sys

import pytest

from tokamak import DefinitionError, FusionDefinition, _tokamak

REFUSED = {
    "contiguity of an axis that broadcasts": ("entry 1 is True", lambda fd, x, s: FusionDefinition().define_tensor(
        [-1, 1], contiguity=[True, True])),
    "a name of no op": ("frobnicate: no op has this name", lambda fd, x, s: fd.call("frobnicate", [x], {})),
    "a scalar as an output": ("a scalar is none", lambda fd, x, s: fd.output(s, [])),
    "an update by a scalar": ("a scalar is none", lambda fd, x, s: fd.update(s, x)),
    "a name of no type": ("'f31' is no type", lambda fd, x, s: fd.scalar_input("f31")),
    "an argument of a type that is none": ("'f31' is no type", lambda fd, x, s: _tokamak.TypeArgument("f31")),
    "the size of a scalar": ("a scalar has none", lambda fd, x, s: fd.size(s, 0)),
    "the size of an axis that is not there": ("axis 3 of a tensor with 1 axes", lambda fd, x, s: fd.size(x, 3)),
}


@pytest.mark.parametrize("what", REFUSED)
def test_is_refused(what):
    words, call = REFUSED[what]
    fd = _tokamak.Definition("f")
    x, s = fd.input("f32", [-1], [], []), fd.scalar_input("f64")
    with pytest.raises(DefinitionError, match=words):
        call(fd, x, s)


def test_sizes_are_known_of_inputs_alone():
    fd = _tokamak.Definition("f")
    x, s = fd.input("f32", [-1], [], []), fd.scalar_input("i64")
    known = _tokamak.KnownSizes(fd)
    with pytest.raises(DefinitionError, match="a tensor has sizes; this is a number"):
        known.bind(s, [3])
    for call in (lambda: known.bind_number(x, 3), lambda: known.evaluate(x)):
        with pytest.raises(DefinitionError, match="a number is legal here, not a tensor"):
            call()
    assert known.evaluate(s) is None and known.evaluate(fd.size(x, 0)) is None
    known.bind(x, [5])
    known.bind_number(s, 7)
    assert known.evaluate(s) == 7 and known.evaluate(fd.size(x, 0)) == 5


def test_wrong_kinds_are_type_errors():
    fd = _tokamak.Definition("f")
    x = fd.input("f32", [-1], [], [])
    for call in (lambda: fd.call("abs", x, {}), lambda: fd.call(3, [], {}), lambda: fd.output(None, []),
                 lambda: fd.input("f32", ["a"], [], []), lambda: fd.constant("a", "f32"), lambda: fd.size(x, "0"),
                 lambda: _tokamak.Compiled(fd, None), lambda: _tokamak.Compiled(None, _tokamak.open_cpu()), lambda: _tokamak.Value()):
        with pytest.raises(TypeError):
            call()


IN_ANOTHER = """
import sys
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
made = interpreters.create()
failed = None
try:
    failed = interpreters.run_string(made, f"import sys; sys.path = {sys.path}; import tokamak")
except interpreters.RunFailedError as error:  # before Python 3.13
    failed = error
print(failed)
interpreters.destroy(made)
import tokamak
"""


WITHOUT_LOCK = """
import sys
class Flags:
    gil = 0
    def __getattr__(self, name):
        return getattr(flags, name)
flags, sys.flags = sys.flags, Flags()
import tokamak
"""


def test_python_without_its_lock_is_refused():
    done = subprocess.run([sys.executable, "-B", "-c", WITHOUT_LOCK], capture_output=True, text=True)
    assert "ImportError: tokamak needs the interpreter's lock: start Python without -X gil=0" in done.stderr


def test_a_subinterpreter_is_refused():
    done = subprocess.run([sys.executable, "-B", "-c", IN_ANOTHER], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "tokamak runs in a process's main interpreter alone, not in a subinterpreter" in done.stdout
