"""Stubs: what editors and type checkers know of the package."""
import inspect
import os
import pathlib
import re
import subprocess
import sys

import pytest

import tokamak
from tokamak import FusionDefinition, _tokamak
from tokamak._ops import Operators

PACKAGE = pathlib.Path(tokamak.__file__).parent
HERE = pathlib.Path(__file__).resolve().parent


def test_the_stub_of_the_ops_is_what_the_golden_says():
    """scripts/update_goldens.py renews it; the difference is a change of what users see."""
    assert (PACKAGE / "_ops.pyi").read_text() == (HERE / "goldens" / "_ops.pyi").read_text()


def test_every_op_says_what_it_means():
    ops = FusionDefinition().ops
    for name in dir(ops):
        if not name.startswith("_"):
            assert len(inspect.getdoc(getattr(ops, name))) > 2, name
    assert inspect.getdoc(ops.softmax) == "exp(x) divided by its sum along an axis."


def test_every_public_function_says_what_it_takes_and_gives():
    for owner in (FusionDefinition, type(FusionDefinition().sched), Operators):
        for name, call in vars(owner).items():
            is_row = owner is Operators and callable(call) and not inspect.unwrap(call).__annotations__
            if name.startswith("_") or not inspect.isfunction(call) or is_row:
                continue
            signature = inspect.signature(call)
            assert signature.return_annotation is not inspect.Signature.empty, name
            for each in list(signature.parameters.values())[1:]:
                assert each.annotation is not inspect.Parameter.empty, f"{name}: {each}"


def test_the_stub_of_the_extension_module_names_all_that_is_in_it():
    text = (PACKAGE / "_tokamak.pyi").read_text()
    for name in dir(_tokamak):
        assert name.startswith("_") or re.search(rf"^(class|def) {name}\b", text, re.MULTILINE), name


def reported(file):
    """What mypy says of a file: line -> kinds of errors."""
    pytest.importorskip("mypy")
    # What is installed mypy finds by itself, and refuses to be told of.
    environment = {} if PACKAGE.parent.name == "site-packages" else {"MYPYPATH": str(PACKAGE.parent)}
    done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--no-incremental", "--no-error-summary",
                           "--follow-imports=silent", "--cache-dir=/dev/null", str(file)], capture_output=True,
                          text=True, timeout=200, cwd=file.parent, env=os.environ | environment, check=False)
    assert done.stderr == "", done.stderr
    errors = {}
    for line in done.stdout.splitlines():
        found = re.match(r".*?:([0-9]+): error: .*\[([a-z-]+)\]$", line)
        if found is not None:
            errors.setdefault(int(found[1]), []).append(found[2])
        else:
            assert ": note:" in line, done.stdout
    return errors


def test_right_uses_pass_a_type_checker():
    assert reported(HERE / "typing" / "right.py") == {}


def test_wrong_uses_are_reported():
    file = HERE / "typing" / "wrong.py"
    wanted = {number: [found[1]] for number, line in enumerate(file.read_text().splitlines(), 1)
              if (found := re.search(r"  # ([a-z-]+)$", line))}
    assert reported(file) == wanted
