"""The handler that XLA calls: programs run on XLA's buffers, and errors are XLA's, here with frames made by hand."""
import gc
import itertools
import os
import pathlib
import signal
import struct
import subprocess

import numpy as np
import pytest
from shared import define, run_in_threads
from test_gpu_arrays import run as run_on_fake_gpu
from xla_frames import INITIALIZE, PREPARE, TYPES, CallSite, XlaError, buffer_of

from tokamak import DataType, Error, FusionDefinition, _programs, _tokamak

CPU = (1, 0)
_numbers = itertools.count()


def program_of(fd):
    """A definition's program, and its key."""
    compiled = fd._compiled_row_major(CPU, [])
    key = f"program {next(_numbers)}"
    return _tokamak.XlaProgram(key, [compiled], list(dict.fromkeys(fd._updated))), key


def site_of(fd, numbers=None):
    """A call site of a definition's program, which nobody else keeps."""
    program, key = program_of(fd)
    told = {} if numbers is None else {"numbers": np.array(numbers, np.int64).ravel()}
    return CallSite(program=key, **told)


def bits(number):
    return struct.unpack("<q", struct.pack("<d", number))[0]


def refused(call, *words, code=None):
    with pytest.raises(XlaError) as caught:
        call()
    for each in words:
        assert each in str(caught.value)
    assert code is None or caught.value.code == code


@pytest.mark.parametrize("name, dtype", [("float32", DataType.Float), ("float64", DataType.Double),
                                         ("float16", DataType.Half), ("int32", DataType.Int32),
                                         ("int64", DataType.Int)])
def test_a_program_runs_on_buffers(name, dtype):
    fd = define(lambda fd, x, y: (fd.ops.cast(x + y, dtype), fd.ops.permute(x, [1, 0]), x < y), (2, dtype), (2, dtype))
    site = site_of(fd)
    for rows, columns in [(4, 8), (1, 1), (3, 0), (0, 5), (7, 33)]:
        x, y = (np.random.randint(-9, 9, (rows, columns)).astype(name) for _ in range(2))
        total, turned, is_less = np.empty_like(x), np.empty((columns, rows), name), np.empty(x.shape, bool)
        site([x, y], [total, turned, is_less])
        np.testing.assert_array_equal(total, x + y)
        np.testing.assert_array_equal(turned, x.T)
        np.testing.assert_array_equal(is_less, x < y)
    site.close()


def test_stages_without_work_and_metadata():
    site = site_of(define(lambda fd, x: x + 1, (1, DataType.Float)))
    for stage in (PREPARE, INITIALIZE):
        site([], [], stage=stage)
    told = site.metadata()
    assert (told.version.major, told.version.minor, told.traits) == (0, 3, 0)


def test_scalars_are_numbers_or_operands():
    fd = define(lambda fd, x, s, n: (x * s, fd.ops.cast(x, DataType.Double) * n), (1, DataType.Float),
                (None, DataType.Double), (None, DataType.Int))
    x, scaled, times = np.arange(5, dtype="f"), np.empty(5, "f"), np.empty(5)
    site = site_of(fd, [(2, bits(2.5)), (1, -3)])
    site([x], [scaled, times])
    np.testing.assert_array_equal(scaled, x * 2.5)
    np.testing.assert_array_equal(times, x * -3.0)
    site = site_of(fd, [(0, 0), (0, 0)])
    for s, n in itertools.product((np.float32(0.5), np.float64(0.25), np.float16(4), np.int32(3), np.bool_(True)),
                                  (np.int64(7), np.int32(-2), np.bool_(True))):
        site([x, np.asarray(s), np.asarray(n)], [scaled, times])
        np.testing.assert_array_equal(scaled, x * np.float32(s))
        np.testing.assert_array_equal(times, x * float(n))
    refused(lambda: site([x, np.ones(2, "f"), np.asarray(1)], [scaled, times]), "1 axes for a scalar")


def test_inputs_that_are_updated_are_results():
    with FusionDefinition() as fd:
        x, y = (fd.define_tensor([-1], contiguity=True) for _ in range(2))
        fd.add_output(x + y, alias_input=x)
        fd.add_output(x * 2)
    site = site_of(fd)
    x, y, doubled = np.arange(3, dtype="f"), np.ones(3, "f"), np.empty(3, "f")
    site([x, y], [doubled, x])
    np.testing.assert_array_equal(x, [1, 2, 3])
    np.testing.assert_array_equal(doubled, [0, 2, 4])
    refused(lambda: site([x, y], [doubled, np.empty(3, "f")]), "input 0 is updated", "the input's own", code=12)


def test_an_output_twice_an_input_and_an_expanded_one():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1], contiguity=True)
        y = x + 1
        for each in (y, y, x, fd.ops.expand(fd.ops.broadcast(x, [True, False]), [3, -1])):
            fd.add_output(each)
    site = site_of(fd)
    x = np.arange(4, dtype="f")
    results = [np.empty(4, "f"), np.empty(4, "f"), np.empty(4, "f"), np.empty((3, 4), "f")]
    site([x], results)
    for got, wanted in zip(results, [x + 1, x + 1, x, np.tile(x, (3, 1))]):
        np.testing.assert_array_equal(got, wanted)


def test_what_does_not_fit_is_an_error_of_xlas():
    fd = define(lambda fd, x, s: x * s, (1, DataType.Float), (None, DataType.Double))
    site = site_of(fd, [(2, bits(1))])
    x, y = np.ones(3, "f"), np.empty(3, "f")
    refused(lambda: site([x, x], [y]), "XLA gives 2 buffers and takes 1", "legal are 1 and 1", code=3)
    refused(lambda: site([x], []), "takes 0")
    refused(lambda: site([buffer_of(x, type=TYPES["int8"])], [y]), "element type 2", "legal are bool", code=3)
    refused(lambda: site([x.astype(int)], [y]), "i64", code=3)
    refused(lambda: site([x], [np.empty(4, "f")]), "has sizes [3], but the given tensor [4]", code=3)
    refused(lambda: site([x.reshape(1, 3)], [y]), "rank 2", code=3)
    refused(lambda: site([np.ones((1,) * 17, "f")], [y]), "17 axes; at most 16", code=3)
    site([x], [y])  # nothing of it stays


def test_call_sites_that_are_none():
    fd = define(lambda fd, x, s: x * s, (1, DataType.Float), (None, DataType.Double))
    program, key = program_of(fd)
    refused(lambda: CallSite(program="nobody's"), "program nobody's", "which this process does not have", code=9)
    refused(lambda: CallSite(), "without the attribute 'program'")
    refused(lambda: CallSite(program=np.arange(3)), "without the attribute 'program'")
    for numbers in (np.arange(3), np.zeros(2, "f"), np.zeros(0, int), "two"):
        refused(lambda numbers=numbers: CallSite(program=key, numbers=numbers),
                "for 1 scalar inputs; legal are two for each")
    site = CallSite("CUDA", ordinal=2, program=key, numbers=np.array([2, 0]))
    refused(lambda: site([np.ones(1, "f")], [np.ones(1, "f")]), "on cuda:2", "compiled for other devices", code=12)
    for function in (_tokamak.xla_handler, _tokamak.xla_state_type):
        with pytest.raises(Error, match="legal are 'cpu' and 'CUDA'"):
            function("TPU")
    with pytest.raises(Error, match="no program"):
        _tokamak.XlaProgram("", [], [])
    del program


def test_an_executable_keeps_its_program_and_others_go():
    fd = define(lambda fd, x: x * 3, (1, DataType.Float))
    program, key = program_of(fd)
    site = CallSite(program=key)
    del fd, program
    gc.collect()
    x, y = np.ones(3, "f"), np.empty(3, "f")
    site([x], [y])
    assert y.tolist() == [3, 3, 3]
    CallSite(program=key).close()  # while the site keeps it
    site.close()
    refused(lambda: CallSite(program=key), "does not have")


def test_threads_call_one_site():
    fd = define(lambda fd, x: fd.ops.sum(x, 1), (2, DataType.Float))
    site = site_of(fd)
    wrong = []

    def work(number):
        for i in range(200):
            x, y = np.full((4 + i % 3, 8), number, "f"), np.empty(4 + i % 3, "f")
            site([x], [y])
            if not (y == 8 * number).all():
                wrong.append(number)

    run_in_threads(work, range(6))
    assert not wrong


def test_buffers_of_a_gpu_with_a_fake_driver():
    run_on_fake_gpu("""
sys.path.insert(0, %r)
from xla_frames import CallSite, buffer_at
from tokamak import _tokamak

def address(array):
    return array.__cuda_array_interface__["data"][0]

def program_of(fd, key):
    places = (1, 0), (CUDA, 0)
    return _tokamak.XlaProgram(key, [fd._compiled_row_major(place, []) for place in places], [])

program = program_of(cube(), "cube")
layouts = cube()._compiled_row_major((CUDA, 0), []).layouts_for([("f32", [2, 2])], [])
assert layouts[0][4:] == ("f32", [2, 2], [2, 1])
stream = ctypes.c_void_p()
assert fake.cuStreamCreate(ctypes.byref(stream), 1) == 0
site = CallSite("CUDA", stream=stream.value, program="cube")
for _ in range(3):
    given, made = array_of(values), array_of(np.zeros((2, 2)))
    site([buffer_at(address(given), (2, 2))], [buffer_at(address(made), (2, 2))])
    assert fake.cuStreamSynchronize(stream) == 0
    assert (values_of(made) == wanted).all()
on_host = np.empty((2, 2), np.float32)
CallSite("cpu", program="cube")([values], [on_host])
assert (on_host == wanted).all()
site.close()

with FusionDefinition() as fd:  # a scalar that lies on the GPU
    x, n = fd.define_tensor([-1, -1], contiguity=True), fd.define_scalar(DataType.Int)
    fd.add_output(fd.ops.matmul(x, x))
kept = program_of(fd, "scalar")
site = CallSite("CUDA", stream=stream.value, program="scalar", numbers=np.zeros(2, np.int64))
number = array_of([3])
site([buffer_at(address(given), (2, 2)), buffer_at(address(number), ())], [buffer_at(address(made), (2, 2))])
assert fake.cuStreamSynchronize(stream) == 0
assert (values_of(made) == values @ values).all()
""" % str(pathlib.Path(__file__).parent))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_child_refuses_what_its_parent_made():
    program, key = program_of(define(lambda fd, x: x * 3, (1, DataType.Float)))
    site = CallSite(program=key)
    gone = site_of(define(lambda fd, x: x * 4, (1, DataType.Float)))
    _programs.forget_programs()
    x, y = np.ones(3, "f"), np.empty(3, "f")
    gone([x], [y])  # has threads now
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            signal.alarm(30)
            _tokamak.xla_forget_programs()
            gone.close()  # whose threads are not here
            for call in (lambda: site([x], [y]), lambda: CallSite(program=key)):
                try:
                    call()
                except XlaError as error:
                    os.write(write, f"{error}\n".encode())
            os._exit(0)
        finally:
            os._exit(1)
    os.close(write)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    with os.fdopen(read) as told:
        words = told.read()
    assert "before the process was forked" in words and "does not have" in words
    site([x], [y])
    assert program is not None and y.tolist() == [3, 3, 3]


def test_the_structs_are_those_of_xlas_header(tmp_path):
    jax = pytest.importorskip("jax")
    compiler = next((each for each in ("c++", "g++", "clang++") if subprocess.run(
        ["which", each], capture_output=True).returncode == 0), None)
    if compiler is None:
        pytest.skip("there is no compiler")
    source = tmp_path / "compared.cpp"
    source.write_text(COMPARED)
    root = pathlib.Path(__file__).parents[2]
    done = subprocess.run([compiler, "-std=c++20", "-fsyntax-only", f"-I{root / 'src'}", f"-I{jax.ffi.include_dir()}",
                           str(source)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


COMPARED = """
#include "python/xla_types.h"
#include "xla/ffi/api/c_api.h"

#include <cstddef>

namespace xla = tokamak::xla;

#define SIZE(ours, theirs) static_assert(sizeof(xla::ours) == sizeof(theirs))
#define AT(ours, field, theirs, other) static_assert(offsetof(xla::ours, field) == offsetof(theirs, other))
#define SAME(ours, theirs) static_assert(static_cast<int>(xla::ours) == static_cast<int>(theirs))

static_assert(xla::kMajorVersion == XLA_FFI_API_MAJOR);
static_assert(xla::kMinorVersion <= XLA_FFI_API_MINOR);
SIZE(Extension, XLA_FFI_Extension_Base);
AT(Extension, type, XLA_FFI_Extension_Base, type);
AT(Extension, next, XLA_FFI_Extension_Base, next);
SIZE(Version, XLA_FFI_Api_Version);
AT(Version, head.extensions, XLA_FFI_Api_Version, extension_start);
AT(Version, major, XLA_FFI_Api_Version, major_version);
AT(Version, minor, XLA_FFI_Api_Version, minor_version);
SIZE(TypeId, XLA_FFI_TypeId);
SIZE(TypeInfo, XLA_FFI_TypeInfo);
AT(TypeInfo, destroy, XLA_FFI_TypeInfo, deleter);
SIZE(Metadata, XLA_FFI_Metadata);
AT(Metadata, version, XLA_FFI_Metadata, api_version);
AT(Metadata, traits, XLA_FFI_Metadata, traits);
AT(Metadata, state_type, XLA_FFI_Metadata, state_type_id);
SIZE(MetadataExtension, XLA_FFI_Metadata_Extension);
AT(MetadataExtension, metadata, XLA_FFI_Metadata_Extension, metadata);
SIZE(Buffer, XLA_FFI_Buffer);
AT(Buffer, type, XLA_FFI_Buffer, dtype);
AT(Buffer, data, XLA_FFI_Buffer, data);
AT(Buffer, rank, XLA_FFI_Buffer, rank);
AT(Buffer, sizes, XLA_FFI_Buffer, dims);
SIZE(Text, XLA_FFI_ByteSpan);
AT(Text, size, XLA_FFI_ByteSpan, len);
SIZE(Array, XLA_FFI_Array);
AT(Array, size, XLA_FFI_Array, size);
AT(Array, data, XLA_FFI_Array, data);
SIZE(Values, XLA_FFI_Args);
AT(Values, size, XLA_FFI_Args, size);
AT(Values, types, XLA_FFI_Args, types);
AT(Values, values, XLA_FFI_Args, args);
SIZE(Values, XLA_FFI_Rets);
AT(Values, size, XLA_FFI_Rets, size);
AT(Values, values, XLA_FFI_Rets, rets);
SIZE(Attributes, XLA_FFI_Attrs);
AT(Attributes, size, XLA_FFI_Attrs, size);
AT(Attributes, types, XLA_FFI_Attrs, types);
AT(Attributes, names, XLA_FFI_Attrs, names);
AT(Attributes, values, XLA_FFI_Attrs, attrs);
SIZE(CallFrame, XLA_FFI_CallFrame);
AT(CallFrame, interface, XLA_FFI_CallFrame, api);
AT(CallFrame, context, XLA_FFI_CallFrame, ctx);
AT(CallFrame, stage, XLA_FFI_CallFrame, stage);
AT(CallFrame, arguments, XLA_FFI_CallFrame, args);
AT(CallFrame, results, XLA_FFI_CallFrame, rets);
AT(CallFrame, attributes, XLA_FFI_CallFrame, attrs);
AT(CallFrame, future, XLA_FFI_CallFrame, future);
SIZE(ErrorRequest, XLA_FFI_Error_Create_Args);
AT(ErrorRequest, message, XLA_FFI_Error_Create_Args, message);
AT(ErrorRequest, code, XLA_FFI_Error_Create_Args, errc);
SIZE(StateRequest, XLA_FFI_State_Set_Args);
AT(StateRequest, context, XLA_FFI_State_Set_Args, ctx);
AT(StateRequest, stage, XLA_FFI_State_Set_Args, stage);
AT(StateRequest, type, XLA_FFI_State_Set_Args, type_id);
AT(StateRequest, state, XLA_FFI_State_Set_Args, state);
SIZE(StateRequest, XLA_FFI_State_Get_Args);
AT(StateRequest, stage, XLA_FFI_State_Get_Args, stage);
AT(StateRequest, type, XLA_FFI_State_Get_Args, type_id);
AT(StateRequest, state, XLA_FFI_State_Get_Args, state);
SIZE(StreamRequest, XLA_FFI_Stream_Get_Args);
AT(StreamRequest, context, XLA_FFI_Stream_Get_Args, ctx);
AT(StreamRequest, stream, XLA_FFI_Stream_Get_Args, stream);
SIZE(OrdinalRequest, XLA_FFI_DeviceOrdinal_Get_Args);
AT(OrdinalRequest, ordinal, XLA_FFI_DeviceOrdinal_Get_Args, device_ordinal);
AT(Interface, version, XLA_FFI_Api, api_version);
AT(Interface, create_error, XLA_FFI_Api, XLA_FFI_Error_Create);
AT(Interface, get_stream, XLA_FFI_Api, XLA_FFI_Stream_Get);
AT(Interface, set_state, XLA_FFI_Api, XLA_FFI_State_Set);
AT(Interface, get_state, XLA_FFI_Api, XLA_FFI_State_Get);
AT(Interface, get_ordinal, XLA_FFI_Api, XLA_FFI_DeviceOrdinal_Get);
SAME(Stage::Instantiate, XLA_FFI_ExecutionStage_INSTANTIATE);
SAME(Stage::Prepare, XLA_FFI_ExecutionStage_PREPARE);
SAME(Stage::Initialize, XLA_FFI_ExecutionStage_INITIALIZE);
SAME(Stage::Execute, XLA_FFI_ExecutionStage_EXECUTE);
SAME(ElementType::Bool, XLA_FFI_DataType_PRED);
SAME(ElementType::I32, XLA_FFI_DataType_S32);
SAME(ElementType::I64, XLA_FFI_DataType_S64);
SAME(ElementType::F16, XLA_FFI_DataType_F16);
SAME(ElementType::F32, XLA_FFI_DataType_F32);
SAME(ElementType::F64, XLA_FFI_DataType_F64);
SAME(ElementType::BF16, XLA_FFI_DataType_BF16);
SAME(AttributeType::Array, XLA_FFI_AttrType_ARRAY);
SAME(AttributeType::String, XLA_FFI_AttrType_STRING);
SAME(ValueType::Buffer, XLA_FFI_ArgType_BUFFER);
SAME(ValueType::Buffer, XLA_FFI_RetType_BUFFER);
SAME(ExtensionType::Metadata, XLA_FFI_Extension_Metadata);
SAME(Code::InvalidArgument, XLA_FFI_Error_Code_INVALID_ARGUMENT);
SAME(Code::NotFound, XLA_FFI_Error_Code_NOT_FOUND);
SAME(Code::ResourceExhausted, XLA_FFI_Error_Code_RESOURCE_EXHAUSTED);
SAME(Code::FailedPrecondition, XLA_FFI_Error_Code_FAILED_PRECONDITION);
SAME(Code::Unimplemented, XLA_FFI_Error_Code_UNIMPLEMENTED);
SAME(Code::Internal, XLA_FFI_Error_Code_INTERNAL);
"""
