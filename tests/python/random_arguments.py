#!/usr/bin/env python3
"""Calls every function of the package with random arguments, right and wrong: each call works, or raises an error of a
fitting kind with a message. It neither crashes, nor hangs, nor raises what says that the package itself is wrong. A GPU takes
no part: its driver needs more addresses than a call may have here, and tries for long to get them.

    random_arguments.py [--seed N] [--cases N] [--jobs N] [FUNCTION ...]    (default: all functions, 1000 cases of each)

The calls are made in a child, so that a crash has a name. What fails is printed as a script that repeats it; the exit
code is 1 then. Arguments do not depend on what calls gave: a seed stands for the same calls whatever is mended.
"""
import argparse
import concurrent.futures
import inspect
import mmap
import os
import pathlib
import random
import resource
import struct
import subprocess
import sys
import tempfile
import time

PER_BATCH = 32  # calls of one definition, where calls change it
MOST_SECONDS = 2  # of a call that compiles nothing
MOST_SECONDS_COMPILING = 60
MOST_BYTES = 16 << 30  # of addresses
NO_DRIVER = {"TOKAMAK_CUDA_DRIVER": "libcuda.so.none"}
PLACE = struct.Struct("qq")  # of the call at hand: function, case

HEAD = """\
import array
import numpy as np
import tokamak
import tokamak.testing
from tokamak import (Array, CacheOp, DataType, FusionDefinition, LoadStoreOpType, MemoryType, ParallelType, Scalar,
                     Tensor, _tokamak)
from tokamak._values import Vector


class Planned(Exception):
    pass


class Raises:
    shape = (4, 8)
    dtype = "float32"
    def __index__(self): raise Planned("index")
    def __iter__(self): raise Planned("iter")
    def __len__(self): raise Planned("len")
    def __float__(self): raise Planned("float")
    def __dlpack_device__(self): raise Planned("device")
    def __dlpack__(self, **named): raise Planned("dlpack")
    def __repr__(self): raise Planned("repr")


class RaisesLate(Raises):
    __iter__ = __len__ = None
    def __dlpack_device__(self): return (1, 0)


class Lies:
    shape = strides = dtype = ndim = itemsize = None
    def __dlpack_device__(self): return "cpu"
    def __dlpack__(self, **named): return 3


class Indexes:
    def __index__(self): return 1


def planted(value):
    import ctypes
    import time

    if value is None: ctypes.string_at(0)
    if isinstance(value, str): raise KeyError("planted")
    if value is True: raise ValueError
    if value is print: time.sleep(2.1)


A = np.ones((4, 8), np.float32)
B = np.arange(32, dtype=np.float32).reshape(4, 8)
K = np.arange(4)
loop = []
loop.append(loop)
deep = []
for _ in range(3000): deep = [deep]
"""
DEFINING = """\
fd, other = FusionDefinition(), FusionDefinition()
x, y = fd.define_tensor([-1, 4]), fd.define_tensor([-1, 4])
m = fd.define_tensor([4, 8], dtype=DataType.Double)
c = fd.define_tensor([2, 3, 4], dtype=DataType.Half)
w = fd.define_tensor([1, -1])
k = fd.define_tensor([4], dtype=DataType.Int)
b = fd.define_tensor([-1, 4], dtype=DataType.Bool)
z, v = fd.define_tensor([]), fd.define_tensor([4])
g = fd.define_tensor([4, 4], dtype=DataType.Int)
q = fd.define_tensor([2, 2, 4, 8])
n, d, e = fd.define_scalar(DataType.Int), fd.define_scalar(), fd.define_scalar(2)
foreign, far = other.define_tensor([-1, 4]), other.define_scalar(DataType.Int)
lost = FusionDefinition().define_tensor([-1, 4])
"""
SCHEDULED = DEFINING + """\
t = x * 2
r = fd.ops.sum(t + y)
fd.add_output(t)
fd.add_output(r)
fd.__exit__(None, None, None)
made = fd.sched.cache_after(x)
"""
RUNNING = """\
with FusionDefinition() as fd:
    x, y, n = fd.define_tensor([-1, -1]), fd.define_tensor([-1, -1]), fd.define_scalar(DataType.Int)
    fd.add_output(x + y * n)
    fd.add_output(fd.ops.sum(x, 1))
fd.execute([A, B, 2])
"""
NATIVE = """\
fd, other = _tokamak.Definition("f"), _tokamak.Definition("g")
x, y = fd.input("f32", [-1, 4], [], []), fd.input("f32", [-1, 4], [True, True], [])
n, z = fd.scalar_input("i64"), fd.input("f64", [], [], [])
foreign, far = other.input("f32", [-1, 4], [], []), other.scalar_input("i64")
lost = _tokamak.Definition("h").input("f32", [-1, 4], [], [])
known, target = _tokamak.KnownSizes(fd), _tokamak.KernelTarget.of_a_gpu()
chosen = _tokamak.choose_parameters(fd, target, [])
"""
COMPILED = """\
cpu = tokamak._devices.open_device((1, 0))
native = _tokamak.Definition("f")
native.output(native.call("add", [native.input("f32", [-1, -1], [], []), 1], {})[0], [])
program = _tokamak.compile_definition(native, cpu, {})
own = Array(cpu, ("own", 128, 0, 0, "f32", [4, 8], [8, 1]))
call = program.call([A], None)
last = _tokamak.LastCall()
bound = program.bind([A], None)
reference = _tokamak.Reference(native, cpu, [A])
made = tokamak.Program(lambda device: program, (1, 0))
x = y = n = foreign = far = lost = native
"""
SETUPS = {"defining": DEFINING, "scheduled": SCHEDULED, "running": RUNNING, "native": NATIVE, "compiled": COMPILED}

NUMBERS = """0 1 -1 2 3 -2 5 7 2**31 -2**31 2**62 2**63-1 2**63 -2**63 2**64 10**30 0.5 -1.5 1.0 1e308 -1e-320 float('nan')
float('inf') -float('inf') True False 1+2j""".split()
ARRAYS = """A B K A[0] A[::2] A[::-1] A.T A[:,::-1] A[:0] np.array(3) np.array(3.5) np.zeros((0,4)) np.zeros(())
A.astype('>f4') A.astype(np.float16) A.astype(np.float64) A.astype(np.complex64) A.astype(np.int8) A.astype(np.uint64)
A.astype(object) A.astype('U3') A.view([('a','f4')]) A.astype('M8[s]') A.astype(np.longdouble) np.broadcast_to(A[0],(3,8))
np.frombuffer(bytes(33),np.uint8)[1:].view(np.float32) np.ones((1,)*20) np.ma.masked_array(A,A>0) memoryview(b'abcd')
bytearray(8) array.array('f',[1,2]) array.array('q',[1]) np.lib.stride_tricks.as_strided(A,(3,3),(5,1))
np.array([],object) np.float32(1) np.float64(.5) np.int64(2) np.int8(-1) np.uint64(2**63) np.bool_(True)
np.datetime64(1,'s') np.complex64(1) np.float16(1) np.ones((2,3,4),np.float32) np.arange(2)""".split()
OBJECTS = """None '' 'x' 'ab' 'f32' 'cpu' 'cuda:0' 'cuda:99999999999' 'mean' 'sum' 'none' '\\0' '\\ud800' b'x' ... object()
print int np Raises() RaisesLate() Lies() Indexes() Raises loop deep type(fd) fd other np.dtype('f4') slice(1)""".split()
LISTS = """[] [0] [1] [-1] [0,1] [1,0] [2,3] [1,1,1] [0,0] [5] [-1,-1] [-3] [2**63] [10**30] [True,False] [False,True] [True] [None]
[[0]] ['a'] [0.5] [float('nan')] (0,1) () range(3) {0:1} {} {1:0,0:1} {0:5} {'a':1} {1} iter([1,2]) [np.int64(1),2] [Indexes()] [1]*200
[x,y] [x] [x,1] [x,foreign] [n,4] [n,n] [n,x] [far] (x,) [lost] [None,x] [[x]] [A,B] [Raises()] [4,4] [-1,4] [2,4]""".split()
TYPES = [f"DataType.{name}" for name in "Double Float Half BFloat16 Int Int32 Bool UInt64 ComplexFloat Null".split()]
TENSORS, SCALARS = "x y m c w k b z v g q".split(), "n d e".split()
FOREIGN = "foreign far lost".split()
PARALLEL = [f"ParallelType.{name}" for name in "grid_x block_x block_y serial unroll vectorize tma stream mma".split()]
ENUMS = PARALLEL + ["MemoryType.local", "MemoryType.shared", "LoadStoreOpType.set", "LoadStoreOpType.tma",
                    "CacheOp.streaming", "CacheOp.unspecified"]
LAYOUTS = """('own',128,0,0,'f32',[4,8],[8,1]) ('own',128,0,0,'f32',[4,8],[1]) ('own',-1,0,0,'f32',[4],[1])
('own',16,0,8,'f32',[4],[1]) ('own',16,0,-8,'f32',[4],[1]) ('own',16,0,0,'f99',[4],[1]) ('own',2**62,0,0,'f32',[2**60],[1])
('own',16,0,0,'f32',[-4],[1]) ('own',16,0,0,'f32',[4],[2**60]) ('own',16,0,0,'f32',[4],[-1]) ('own',0,0,0,'f32',[0],[1])
('own',16,0) ('own','a',0,0,'f32',[4],[1]) ('own',16,0,0,'f32',[4]*40,[1]*40) ('own',10**30,0,0,'f32',[4],[1])""".split()
ANYTHING = NUMBERS + ARRAYS + OBJECTS + LISTS + TYPES + ENUMS + TENSORS + SCALARS + FOREIGN

FITTING = {
    "tensor": TENSORS, "tensors": ["[x,y]", "[x]", "[x,y,x]", "[m,m]"], "value": TENSORS + SCALARS + NUMBERS[:6],
    "scalar": SCALARS + NUMBERS[:8] + ["0.5"], "scalars": ["[n,4]", "[2,4]", "[4,2]", "[-1,4]", "[n,n]", "x.shape()"],
    "integer": NUMBERS[:6], "integers": ["[0]", "[1]", "[0,1]", "[1,0]", "[-1]"], "real": ["0.5", "1", "0.1", "-1.0"],
    "flag": ["True", "False"], "flags": ["[True,False]", "[False,True]", "[True,False,False]"], "type": TYPES[:7],
    "name": ["'mean'", "'sum'", "'none'"], "parallel": PARALLEL, "enum": ENUMS, "memory": ["MemoryType.local", "MemoryType.shared"],
    "copy": ["LoadStoreOpType.set"], "cache": ["CacheOp.streaming", "CacheOp.unspecified"],
    "types": ["[ParallelType.grid_x]", "[ParallelType.block_x,ParallelType.vectorize]", "()"], "pairs": ["{0:1,1:0}", "{0:1}", "{-1:0}"],
    "device": ["None", "'cpu'", "'cuda'", "'cpu:0'", "0"], "array": ARRAYS, "inputs": [], "layout": LAYOUTS,
    "typename": ["'f32'", "'i64'", "'bool'"], "callable": ["'add'", "'sum'", "'abs'", "'softmax'", "'cache_after'", "'merge'"],
    "named": ["{}", "{'axis':1}", "{'a\\ud800':1}", "{1:2}", "{'tensor':x}", "{'tensor':x,'axis':0}"], "anything": ANYTHING,
    "native": ["fd", "other", "native"], "definition": ["fd"], "option": ["'streams'", "'compile'", "'num_threads'"],
    "planted": ["0", "0.5", "None", "print", "'x'", "True"], "opened": ["cpu"],
    "key": ["0", "-1", "n", "...", "None", "()", "slice(1,3)", "(0,1)", "(n,slice(None,n,2))", "slice(n,None)",
            "(...,slice(-2,None))", "(None,2)", "(slice(0,9),slice(3,1))"],
    "references": ["[A + B * 2, A.sum(1)]", "[A]", "[A, A]"], "last": ["last"], "target": ["target"],
    "told": ["[]", "[[4,8]]", "[None, 3]"], "options": ["{}", "{'streams':2}", "{'streams':'a'}", "{'streams':-1}"],
    "source": ["'fusion f(x: f32[n]) -> y { y = abs(x) }'", "'% x'", "b'TOK'", "b''"], "names": ["[]", "['native']", "['no']", "'ab'"], "chosen": ["chosen"], "parameter": ["'vector'", "'threads'"],
}
# Parameters by their names, where nothing else tells what they take.
BY_NAME = {"tensor": "tensor", "arg": "tensor", "axis": "integer", "dim": "integer", "pos": "integer",
           "factor": "integer", "inner_split": "flag", "parallel_type": "parallel", "old2new": "pairs",
           "dims": "integers", "selected_tensors": "tensors", "selected_parallel_types": "types", "op_type": "copy",
           "cache_op": "cache", "memory_type": "memory", "best_effort": "flag", "propagate_padding": "flag",
           "shape": "integers", "sizes": "integers", "strides": "integers", "contiguity": "flags", "dtype": "type",
           "is_cpu": "flag", "stride_order": "integers", "static_sizes": "flag", "array": "array", "value": "scalar",
           "output": "tensor", "alias_input": "tensor", "inputs": "inputs", "reference_outputs": "references",
           "device": "device", "out": "inputs", "id": "integer", "max_length": "integer", "input": "tensor",
           "shape_": "scalars", "index": "integer", "vector": "scalars"}
# Parameters of what C++ has, in their order.
OF_MODULE = {
    "native": {
        "_tokamak.Definition": ["name"], "_tokamak.TypeArgument": ["typename"],
        "fd.input": ["typename", "integers", "flags", "integers"], "fd.scalar_input": ["typename"],
        "fd.constant": ["real", "typename"], "fd.call": ["callable", "tensors", "named"], "fd.size": ["tensor", "integer"],
        "fd.output": ["tensor", "integers"], "fd.update": ["tensor", "tensor"], "fd.text": [], "fd.cast": ["scalar", "typename"],
        "fd.command": ["callable", "named"], "fd.drop_schedule": [], "fd.scheduled_text": [], "fd.scheduled_tensor": ["tensor"],
        "fd.scheduled_tensors": [], "fd.loops": ["tensor"], "fd.may_be_inlined": ["tensor"], "fd.is_reduction": ["tensor"],
        "_tokamak.callables": [], "_tokamak.device_of": ["inputs"], "_tokamak.open_cuda": ["integer"],
        "_tokamak.open_cpu": ["integer"], "x.__str__": [], "x.is_same": ["tensor"], "_tokamak.KnownSizes": ["native"],
        "known.bind": ["tensor", "integers"],
        "known.bind_number": ["scalar", "real"], "known.evaluate": ["scalar"], "_tokamak.parameters_of": ["flag"],
        "_tokamak.judge_kinds": ["native", "target"], "_tokamak.choose_parameters": ["native", "target", "told"],
        "_tokamak.apply_parameters": ["native", "chosen"], "chosen.value": ["parameter"],
        "chosen.set": ["parameter", "integer"]},
    "compiled": {
        "_tokamak.compile_definition": ["native", "opened", "options"],
        "_tokamak.compile_text": ["source", "name", "opened", "options"],
        "_tokamak.load": ["source", "name", "opened", "flag", "flag", "options"],
        "_tokamak.export_definition": ["native", "named", "names", "names", "integer", "flag"],
        "_tokamak.Reference": ["native", "opened", "inputs"], "reference.exact": ["integer"],
        "reference.compare": ["integer", "array"], "program.bind": ["inputs", "inputs"], "bound.run": [],
        "program.prepare": ["named"], "program.host_text": [], "program.statistics": [], "call.plan": [],
        "tokamak.compile": ["source", "device"], "tokamak.load": ["source", "device", "flag", "flag"],
        "made.run": ["inputs", "inputs"], "made.bind": ["inputs", "inputs"], "made.plan_for": ["inputs"],
        "made.prepare": ["named"], "Array": ["opened", "layout", "integer"],
        "own.__dlpack__": [], "own.__dlpack_device__": [], "own.__repr__": [],
        "program.try_execute": ["inputs", "inputs", "last"],
        "program.last_kernel_texts": ["last", "flag"], "program.call": ["inputs", "integer"], "call.output_layouts": [],
        "call.kernel_texts": ["flag"], "call.run": ["inputs", "last"], "tokamak._devices.open_device": ["anything"]},
}
NAMED = {"own.__dlpack__": ["stream", "max_version", "dl_device", "copy"]}
COMPILING = {"fd.execute", "fd.validate", "fd.cuda_code_for", "fd.source_for", "fd.scheduled_fusion_ir_for",
             "program.try_execute", "program.call", "call.run", "call.kernel_texts", "program.last_kernel_texts",
             "_tokamak.compile_definition", "_tokamak.compile_text", "_tokamak.export_definition", "tokamak.compile",
             "program.bind", "call.plan", "made.run", "made.bind", "made.plan_for", "program.prepare", "made.prepare", "fd.last_cuda_code", "fd.last_scheduled_fusion_ir"}


class Function:
    """What is called: its name, what it needs, and for each parameter its name and what fits."""

    def __init__(self, name, setup, parameters, may_be_named=True):
        self.name, self.setup, self.parameters, self.may_be_named = name, setup, parameters, may_be_named


def kind_of(annotation, name):
    words = {"Tensor": "tensor", "AnyValue": "value", "Value": "value", "DataType": "type", "bool": "flag", "Size": "scalar",
             "Number": "real", "float": "real", "int": "integer", "SupportsIndex": "integer", "Sequence[Size]": "scalars",
             "Scalar": "scalar", "Sequence[int]": "integers"}
    return words.get(annotation.split(" | ")[0]) or BY_NAME.get(name, "anything")


def of_python(name, setup, call, skipped=0):
    parameters = [each for each in list(inspect.signature(call).parameters.values())[skipped:]
                  if each.kind not in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)]
    return Function(name, setup, [(each.name, kind_of(str(each.annotation), each.name)
                                   if setup == "defining" and each.name not in BY_NAME or "ops." in name
                                   else BY_NAME.get(each.name, "anything")) for each in parameters])


def functions():
    import tokamak._ops as ops
    from tokamak import FusionDefinition
    from tokamak.schedule import ScheduleOperators

    all_ = []
    for name in sorted(vars(ops.Operators)):
        call = vars(ops.Operators)[name]
        if name.startswith("_") or not callable(call):
            continue
        function = of_python(f"fd.ops.{name}", "defining", call, 1)
        if name in ops.ROWS and not inspect.unwrap(call).__annotations__:
            table = ops.CALLABLES[name]["parameters"]
            kinds = {each[0]: each[2] for each in table}
            function.parameters = [
                (each.name, table[place][2] if each.theirs is None else kinds.get(each.theirs, "integers" if
                                                                                  each.theirs == "axis" else "flag"))
                for place, each in enumerate(ops.ROWS[name])]
        all_.append(function)
    for name in sorted(vars(ScheduleOperators)):
        if not name.startswith("_"):
            all_.append(of_python(f"fd.sched.{name}", "scheduled", vars(ScheduleOperators)[name], 1))
    all_.append(of_python("FusionDefinition", "defining", FusionDefinition.__init__, 1))
    for name in "from_array from_pytorch define_scalar define_vector add_output fusion_ir".split():
        all_.append(of_python(f"fd.{name}", "defining", getattr(FusionDefinition, name), 1))
    tensor = ["shape", "contiguity", "dtype", "is_cpu", "stride_order"]
    all_.append(Function("fd.define_tensor", "defining", [(each, BY_NAME[each]) for each in tensor]))
    strided = ["sizes", "strides", "dtype", "static_sizes", "is_cpu"]
    all_.append(Function("fd.define_tensor ", "defining", [(each, BY_NAME[each]) for each in strided]))
    for name in ("execute validate cuda_code_for source_for scheduled_fusion_ir_for last_cuda_code "
                 "last_scheduled_fusion_ir explain repro_script_for last_repro_script").split():
        all_.append(of_python(f"fd.{name}", "running", getattr(FusionDefinition, name), 1))
    all_ += [Function(f"tokamak.testing.{name}", "running", [("program", "definition"), ("inputs", "inputs")])
             for name in ("check", "reference")]
    all_.append(Function("tokamak.config.get", "running", [("", "option")], may_be_named=False))
    all_.append(Function("fd.execute ", "running", [("inputs", "inputs")]))  # fewer wrong ones
    for name in [*(f"__{each}__" for each in "add radd truediv pow rshift rlshift eq lt mod".split()), "size"]:
        all_.append(Function(f"x.{name}", "defining", [("", "value")], may_be_named=False))
    all_.append(Function("x.__getitem__", "defining", [("", "key")], may_be_named=False))
    all_.append(Function("x.shape().at", "defining", [("index", "integer")]))
    all_ += [Function(f"x.__{each}__", "defining", []) for each in ("neg", "abs")]
    all_.append(Function("b.__invert__", "defining", []))
    for setup, table in OF_MODULE.items():
        for name, kinds in table.items():
            named = [(each, "anything") for each in NAMED.get(name, [])]
            all_.append(Function(name, setup, [("", kind) for kind in kinds] + named, may_be_named=bool(named)))
    all_.append(Function("planted", "native", [("value", "planted")]))  # which fails, to see that it is found
    return all_


def chosen(names):
    """Numbers and functions."""
    return [(number, each) for number, each in enumerate(functions())
            if (each.name.strip() in names if names else each.name != "planted")]


def drawn_inputs(draw):
    entries = [draw.choice(ANYTHING) if draw.random() < 0.15 else each for each in ("A", "B", "2")]
    if draw.random() < 0.1:
        entries = entries[:draw.randrange(4)] * draw.randrange(3)
    return f"[{','.join(entries)}]"


def drawn_value(draw, kind, setup):
    if draw.random() < 0.3:
        return draw.choice(ANYTHING)
    if setup == "scheduled" and kind in ("tensor", "tensors"):
        tensor = draw.choice(["x", "y", "t", "r", "made"])
        return f"[{tensor}]" if kind == "tensors" else tensor
    return drawn_inputs(draw) if kind == "inputs" else draw.choice(FITTING[kind])


def drawn_call(draw, function):
    """Sources of positional and of named arguments."""
    is_named_only = function.name in NAMED
    count = len(function.parameters)
    positional = 0 if is_named_only else draw.randint(0, count) if draw.random() < 0.4 else count
    words = [drawn_value(draw, kind, function.setup) for _, kind in function.parameters[:positional]]
    named = {}
    if function.may_be_named:
        for name, kind in function.parameters[positional:]:
            if draw.random() < (0.1 if function.setup == "running" else 0.7):
                named[name] = drawn_value(draw, kind, function.setup)
        if draw.random() < 0.02:
            named["frobnicate"] = "1"
    if draw.random() < 0.03:
        words.append(draw.choice(ANYTHING))
    return words, named


def shown(function, words, named):
    return f"{function.name.strip()}({', '.join([*words, *(f'{name}={value}' for name, value in named.items())])})"


class Names(dict):
    """What arguments are, evaluated when they are first needed. What a setup lacks is None."""

    def value(self, source):
        if source.startswith("iter("):
            return eval(source, self)
        if source not in self:
            self[source] = eval(source, self)
        return self[source]

    def __missing__(self, name):
        if name in TENSORS + SCALARS + FOREIGN + ["fd", "other", "native", "cpu"]:
            return None
        raise KeyError(name)


def is_fitting(error, planned):
    import tokamak

    if isinstance(error, planned):
        return True
    if isinstance(error, MemoryError):
        return True
    if isinstance(error, tokamak.Error):
        return bool(str(error)) and "internal" not in str(getattr(error, "code", "")).lower()
    return isinstance(error, (TypeError, ValueError, IndexError, OverflowError, NotImplementedError, OSError)) and bool(str(error))


def batch_of(function):
    return 1 << 40 if function.setup in ("running", "compiled") else PER_BATCH


def run_here(arguments):
    """The child's work: prints a line for each call that does not end as it should."""
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    head = Names()
    exec(HEAD, head)
    place = mmap.mmap(os.open(arguments.place, os.O_RDWR), PLACE.size)
    first_function, first_case = (int(each) for each in arguments.child.split(":"))
    for number, function in chosen(arguments.functions):
        if number < first_function:
            continue
        start = first_case if number == first_function else 0
        worked = 0
        size = batch_of(function)
        for batch in range(start // size, -(-arguments.cases // size)):
            draw = random.Random(f"{arguments.seed} {function.name} {batch}")
            names = Names(head)
            exec(SETUPS[function.setup], names)
            call = eval(function.name.strip(), names)
            for case in range(batch * size, min((batch + 1) * size, arguments.cases)):
                words, named = drawn_call(draw, function)
                if case < start:
                    continue
                place[:] = PLACE.pack(number, case)
                has_worked, wrong = outcome(call, names, words, named, function)
                worked += has_worked
                if wrong:
                    print(f"{number} {case} {wrong}", flush=True)
        print(f"{number} worked {worked}", flush=True)


def outcome(call, names, words, named, function):
    """Whether a call worked, and what is wrong with how it ended."""
    positional = [names.value(each) for each in words]
    named = {name: names.value(each) for name, each in named.items()}
    began = time.monotonic()
    has_worked, wrong = True, None
    try:
        call(*positional, **named)
    except BaseException as error:
        has_worked = False
        if not is_fitting(error, names["Planned"]):
            wrong = f"{type(error).__name__}: {str(error)[:300]!r}"
    seconds = time.monotonic() - began
    most = MOST_SECONDS_COMPILING if function.name.strip() in COMPILING else MOST_SECONDS
    return has_worked, f"it took {seconds:.1f} s" if seconds > most else wrong


def script_of(arguments, number, case):
    """A script that repeats a call."""
    function = functions()[number]
    draw = random.Random(f"{arguments.seed} {function.name} {case // batch_of(function)}")
    for _ in range(case % batch_of(function) + 1):
        words, named = drawn_call(draw, function)
    known = "".join(f"{name} = None\n" for name in TENSORS + SCALARS + FOREIGN + ["fd", "other", "native", "cpu"])
    return f"{HEAD}{known}{SETUPS[function.setup]}{shown(function, words, named)}\n"


def watched(child, place):
    """The child's exit code, and whether it had to be killed as it did not come on."""
    last, since = None, time.monotonic()
    while child.poll() is None:
        time.sleep(0.05)
        now = bytes(place[:])
        if now != last:
            last, since = now, time.monotonic()
        elif time.monotonic() - since > MOST_SECONDS_COMPILING:
            child.kill()
            return child.wait(), True
    return child.returncode, False


def run_all(arguments, names):
    """Runs children, each from the call after the one that ended the last; gives what failed, (function, case, how),
    and how many calls of each function worked."""
    failures, worked, start = [], {}, (0, 0)
    with tempfile.NamedTemporaryFile() as file, tempfile.TemporaryFile("w+") as said:
        file.write(bytes(PLACE.size))
        file.flush()
        place = mmap.mmap(file.fileno(), PLACE.size)
        while True:
            said.seek(0)
            said.truncate()
            child = subprocess.Popen([sys.executable, "-B", __file__, "--child", f"{start[0]}:{start[1]}", "--place",
                                      file.name, "--seed", str(arguments.seed), "--cases", str(arguments.cases),
                                      *names], env=os.environ | NO_DRIVER, stdout=said, stderr=subprocess.STDOUT)
            code, is_hanging = watched(child, place)
            said.seek(0)
            lines = said.read().splitlines()
            for line in lines:
                number, _, rest = line.partition(" ")
                case, _, how = rest.partition(" ")
                if number.isdecimal() and case == "worked":
                    worked[int(number)] = worked.get(int(number), 0) + int(how)
                elif number.isdecimal() and case.isdecimal():
                    failures.append((int(number), int(case), how))
            if code == 0:
                return failures, worked
            number, case = PLACE.unpack(place[:])
            how = "it hangs" if is_hanging else f"it ends the process with {code}"
            failures.append((number, case, "\n".join([how, *(line for line in lines[-8:] if not line[:1].isdecimal())])))
            start = (number, case + 1)
            if len(failures) > 200:
                return failures, worked


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=int(os.environ.get("TOKAMAK_TEST_SEED", "1")))
    parser.add_argument("--cases", type=int, default=int(os.environ.get("TOKAMAK_TEST_CASES", "1000")))
    parser.add_argument("--jobs", type=int, default=1, help="how many processes share the functions")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--place", help=argparse.SUPPRESS)
    parser.add_argument("--scripts", default=3, type=int, help="how many scripts are printed")
    parser.add_argument("functions", nargs="*", metavar="FUNCTION")
    arguments = parser.parse_args()
    if arguments.child:
        run_here(arguments)
        return 0
    began = time.monotonic()
    names = list(dict.fromkeys(each.name.strip() for _, each in chosen(arguments.functions)))
    jobs = min(arguments.jobs, len(names))
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        parts = list(pool.map(lambda job: run_all(arguments, names[job::jobs]), range(jobs)))
    failures = sorted(each for failed, _ in parts for each in failed)
    worked = {number: count for _, counts in parts for number, count in counts.items()}
    all_ = functions()
    for number, case, how in failures:
        print(f"seed {arguments.seed}, {all_[number].name.strip()}, case {case}: {how}")
        print("    " + script_of(arguments, number, case).splitlines()[-1])
    for number, case, _ in failures[:arguments.scripts]:
        print(f"---- {all_[number].name.strip()}, case {case}:\n{script_of(arguments, number, case)}")
    ran = chosen(arguments.functions)
    useless = [each.name.strip() for number, each in ran if worked.get(number, 0) == 0]
    if useless:
        print(f"No call worked of {', '.join(useless)}")
    print(f"{len(ran)} functions, {arguments.cases} calls each, {sum(worked.values())} worked: {len(failures)} failed, "
          f"{time.monotonic() - began:.0f} s")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
