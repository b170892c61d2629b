"""Every function of the package takes random arguments without a crash, a hang or an internal error."""
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

import tokamak
from tokamak import Array, BindError, DataType, DefinitionError, FusionDefinition, ParallelType, _tokamak
from tokamak._devices import open_device

DRIVER = pathlib.Path(__file__).resolve().parent / "random_arguments.py"


def driven(*arguments):
    return subprocess.run([sys.executable, "-B", str(DRIVER), *arguments], capture_output=True, text=True,
                          env=os.environ | {"PYTHONWARNINGS": "ignore"}, check=False)


def test_every_function_takes_random_arguments():
    """TOKAMAK_TEST_CASES: how many of each function; TOKAMAK_TEST_SEED: which ones."""
    done = driven()
    print(done.stdout)
    assert done.returncode == 0, done.stdout[-20000:] + done.stderr[-2000:]
    functions = int(re.search(r"^([0-9]+) functions", done.stdout, re.MULTILINE)[1])
    assert functions > 200


def test_a_crash_a_hang_and_an_error_that_does_not_fit_are_named_and_repeated(tmp_path):
    done = driven("--seed", "3", "--cases", "20", "--scripts", "100", "planted")
    assert done.returncode == 1, done.stderr
    said = done.stdout
    assert re.search(r"seed 3, planted, case [0-9]+: it ends the process with -11", said)
    assert re.search(r"seed 3, planted, case [0-9]+: it took 2.1 s", said)
    assert re.search(r"seed 3, planted, case [0-9]+: KeyError: \"'planted'\"", said)
    assert re.search(r"seed 3, planted, case [0-9]+: ValueError: ''", said)
    case = re.search(r"case ([0-9]+): it ends the process", said)[1]
    script = tmp_path / "repeated.py"
    script.write_text(said.partition(f"---- planted, case {case}:\n")[2].partition("----")[0])
    assert subprocess.run([sys.executable, "-B", script], stderr=subprocess.DEVNULL, check=False).returncode == -11


# What was found, and what users met: the error, its words, and the call.
loop = []
loop.append(loop)
deep = []
for _ in range(3000):
    deep = [deep]


class Raises:
    def __repr__(self):
        raise LookupError

    __iter__ = __index__ = __len__ = __repr__


REFUSED = {
    "a list in itself": (TypeError, "a list of lists", lambda fd, x, s: fd.ops.add(x, loop)),
    "a deep list": (TypeError, "a list of lists", lambda fd, x, s: fd.ops.sum(x, deep)),
    "a deep list as a type": (TypeError, "a list of lists", lambda fd, x, s: fd.define_tensor([-1], dtype=deep)),
    "a deep list as an axis": (TypeError, "a list of lists", lambda fd, x, s: fd.ops.size(x, deep)),
    "a deep list as an entry": (TypeError, "a list of lists", lambda fd, x, s: fd.ops.at(deep, 0)),
    "what has no repr()": (TypeError, "a Raises is no type", lambda fd, x, s: fd.define_scalar(Raises(), Raises())),
    "a deep list for what changes nothing": (TypeError, "a list of lists",
                                             lambda fd, x, s: fd.ops.cat([x], manual_padding=deep)),
    "a number for what changes nothing": (TypeError, "manual_padding: True and False are legal, not 3",
                                          lambda fd, x, s: fd.ops.cat([x], manual_padding=3)),
    "a list in itself for what is not looked at": (TypeError, "a list of lists",
                                                   lambda fd, x, s: fd.ops.randn_like(x, rng_offset=loop)),
    "a number as running statistics": (TypeError, "ops.batch_norm takes a tensor, not a float",
                                       lambda fd, x, s: fd.ops.batch_norm(x, running_mean=1.0, running_var=x)),
    "a list as a tolerance": (TypeError, "rtol: ['a'] is no number",
                              lambda fd, x, s: closed(fd, x).validate([], [], rtol=["a"])),
    "a name with a zero": (DefinitionError, "?: no op has this name", lambda fd, x, s: fd._native.call("\0", [], {})),
    "half a surrogate pair": (ValueError, "surrogates", lambda fd, x, s: fd.ops.add(x, "\ud800")),
    "a type of NumPy": (TypeError, "is no argument of an op", lambda fd, x, s: fd.ops.add(x, np.dtype("f4"))),
    "contiguity as a text": (TypeError, "contiguity: a list is legal here, not 'ab'",
                             lambda fd, x, s: fd.define_tensor([-1, -1], contiguity="ab")),
    "contiguity of numbers": (TypeError, "contiguity: True and False are legal, not 0.5",
                              lambda fd, x, s: fd.define_tensor([-1, -1], contiguity=[True, 0.5])),
    "is_cpu as a number": (TypeError, "is_cpu: True and False are legal",
                           lambda fd, x, s: fd.define_tensor([-1], is_cpu=3)),
    "one pad width": (TypeError, "pad_widths: a list is legal here, not 5", lambda fd, x, s: fd.ops.pad(x, 5)),
    "a fraction as a diagonal": (TypeError, "diagonal: 1.5 is no integer", lambda fd, x, s: fd.ops.triu(x, 1.5)),
    "a negative number of scalars": (ValueError, "-1 is no size", lambda fd, x, s: fd.define_vector(-1)),
    "a truth as a number of scalars": (TypeError, "True is no integer", lambda fd, x, s: fd.define_vector(True)),
    "a text as a vector": (TypeError, "a list is legal here, not 'ab'", lambda fd, x, s: fd.define_vector("ab")),
    "a number as an array": (TypeError, "from_array takes an array", lambda fd, x, s: fd.from_array(3)),
    "an argument of neg": (TypeError, "takes 1 positional argument", lambda fd, x, s: x.__neg__("f32")),
    "a place that is none": (ValueError, "'cpu:1' is none", lambda fd, x, s: closed(fd, x).execute([], device="cpu:1")),
    "a text as inputs": (TypeError, "inputs: a list is legal", lambda fd, x, s: closed(fd, x).execute("ab")),
    "loops of a text": (TypeError, "an axis: 'a' is no integer", lambda fd, x, s: closed(fd, x).sched.merge(x, "a")),
    "old2new as a list": (TypeError, "old2new is a Mapping",
                          lambda fd, x, s: closed(fd, x).sched.reorder(x, [0, 1])),
    "a text as types": (TypeError, "selected types: a list",
                        lambda fd, x, s: closed(fd, x).sched.parallelize_like(x, selected_parallel_types="ab")),
    "a list in a list for the module": (DefinitionError, "this one has list",
                                        lambda fd, x, s: fd._native.call("add", [loop], {})),
    "a number as a name": (TypeError, "a name is of type str, not int",
                           lambda fd, x, s: fd._native.call("add", [x._value], {1: 2})),
    "a layout of few entries": (DefinitionError, "got 2 entries", lambda fd, x, s: own(("own", 16))),
    "a layout beyond its memory": (DefinitionError, "axis 0 ends beyond the 16 bytes",
                                   lambda fd, x, s: own(("own", 16, 0, 0, "f32", [8], [1]))),
    "a layout of one element too many": (DefinitionError, "the last element ends beyond the 16 bytes",
                                         lambda fd, x, s: own(("own", 16, 0, 2, "f32", [4], [1]))),
    "a negative stride": (DefinitionError, "are negative", lambda fd, x, s: own(("own", 16, 0, 0, "f32", [4], [-1]))),
    "a stride too few": (DefinitionError, "2 sizes and 1 strides",
                         lambda fd, x, s: own(("own", 16, 0, 0, "f32", [2, 2], [1]))),
    "a text as bytes": (TypeError, "an entry of an argument", lambda fd, x, s: own(("own", "a", 0, 0, "f32", [4], [1]))),
}


def own(layout):
    return Array(open_device((1, 0)), layout)


def closed(fd, x):
    fd.add_output(x * 2)
    fd.__exit__(None, None, None)
    return fd


def test_arrays_without_elements_need_no_memory():
    assert own(("own", 0, 0, 0, "f32", [3, 0], [4, 1])).shape == (3, 0)


@pytest.mark.parametrize("what", REFUSED)
def test_is_refused(what):
    kind, words, call = REFUSED[what]
    fd = FusionDefinition()
    x, s = fd.define_tensor([-1, 4]), fd.define_scalar(DataType.Int)
    with pytest.raises(kind, match=re.escape(words)):
        call(fd, x, s)


def test_a_name_may_be_anything():
    assert FusionDefinition(deep).fusion_ir().startswith("fusion fusion_a_list(")


def test_numbers_and_lists_of_numpy_are_taken():
    fd = FusionDefinition()
    x = fd.define_tensor(np.array([-1, 4]), contiguity=np.array([True, True]))
    v = fd.define_vector(np.int64(2))
    assert fd.ops.at(v, np.int64(1)) is v[1] and v.at(np.int8(-1)) is v[1]
    assert fd.define_tensor([2, 3], [np.int64(3), np.int64(1)]).ndim == 2
    fd.add_output(fd.ops.pad(x, np.array([1, 1])), stride_order=np.array([0, 1]))
    fd.__exit__(None, None, None)
    fd.sched.parallelize(x, np.int64(0), ParallelType.serial)


def test_the_processor_may_have_its_number():
    with FusionDefinition() as fd:
        fd.add_output(fd.ops.full([2], 1.0, DataType.Float))
    assert fd.execute([], device="cpu:0")[0].tolist() == [1.0, 1.0]


def test_leaves_that_learn_are_not_written():
    torch = pytest.importorskip("torch")
    with FusionDefinition() as fd:
        fd.add_output(fd.define_tensor([-1]) + 1)
    with FusionDefinition() as update:
        x = update.define_tensor([-1])
        update.add_output(x + 1, x)
    leaf = torch.ones(3, requires_grad=True)
    for call in (lambda: fd.execute([torch.ones(3)], out=[leaf]), lambda: update.execute([leaf])):
        for _ in range(2):
            with pytest.raises(BindError, match="requires a gradient is not written in place"):
                call()
        assert leaf.tolist() == [1.0] * 3
        with torch.no_grad():
            call()
            leaf.fill_(1.0)
