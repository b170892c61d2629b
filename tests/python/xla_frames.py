"""XLA's side of its foreign function interface, as far as a handler sees it: frames of calls, made with ctypes."""
import ctypes
from ctypes import (
    POINTER, Structure, addressof, c_char_p, c_int, c_int32, c_int64, c_size_t, c_uint32, c_void_p, sizeof)

import numpy as np

from tokamak import _tokamak

INSTANTIATE, PREPARE, INITIALIZE, EXECUTE = range(4)
TYPES = {"bool": 1, "int8": 2, "int32": 4, "int64": 5, "float16": 10, "float32": 11, "float64": 12}
ARRAY, STRING = 1, 4  # types of attributes


class Head(Structure):
    _fields_ = [("size", c_size_t), ("extensions", c_void_p)]


class Version(Structure):
    _fields_ = [("head", Head), ("major", c_int), ("minor", c_int)]


class Buffer(Structure):
    _fields_ = [("head", Head), ("type", c_int32), ("data", c_void_p), ("rank", c_int64), ("sizes", POINTER(c_int64))]


class Text(Structure):
    _fields_ = [("data", c_char_p), ("size", c_size_t)]


class Array(Structure):
    _fields_ = [("type", c_int32), ("size", c_size_t), ("data", c_void_p)]


class Values(Structure):
    _fields_ = [("head", Head), ("size", c_int64), ("types", c_void_p), ("values", POINTER(c_void_p))]


class Attributes(Structure):
    _fields_ = [("head", Head), ("size", c_int64), ("types", POINTER(c_int32)), ("names", POINTER(c_void_p)),
                ("values", POINTER(c_void_p))]


class Frame(Structure):
    _fields_ = [("head", Head), ("interface", c_void_p), ("context", c_void_p), ("stage", c_int32),
                ("arguments", Values), ("results", Values), ("attributes", Attributes), ("future", c_void_p)]


class ErrorRequest(Structure):
    _fields_ = [("head", Head), ("message", c_char_p), ("code", c_int32)]


class StateRequest(Structure):
    _fields_ = [("head", Head), ("context", c_void_p), ("stage", c_int32), ("type", c_void_p), ("state", c_void_p)]


class StreamRequest(Structure):
    _fields_ = [("head", Head), ("context", c_void_p), ("stream", c_void_p)]


class OrdinalRequest(Structure):
    _fields_ = [("head", Head), ("context", c_void_p), ("ordinal", c_int32)]


class TypeInfo(Structure):
    _fields_ = [("head", Head), ("destroy", ctypes.CFUNCTYPE(None, c_void_p))]


class Metadata(Structure):
    _fields_ = [("size", c_size_t), ("version", Version), ("traits", c_uint32), ("state_type", c_int64)]


class MetadataExtension(Structure):
    _fields_ = [("size", c_size_t), ("type", c_int32), ("next", c_void_p), ("metadata", POINTER(Metadata))]


_Function = ctypes.CFUNCTYPE(c_void_p, c_void_p)
_SLOTS = {"create_error": 0, "get_stream": 4, "set_state": 7, "get_state": 8, "get_ordinal": 17}


class Interface(Structure):
    _fields_ = [("head", Head), ("version", Version), ("own", c_void_p), ("functions", c_void_p * 18)]


def _pointer_of(capsule):
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = c_void_p, [ctypes.py_object, c_char_p]
    return get(capsule, None)


def buffer_at(address, shape, dtype="float32"):
    """A buffer of XLA's at an address, which may be a GPU's."""
    sizes = (c_int64 * max(len(shape), 1))(*shape)
    buffer = Buffer(Head(sizeof(Buffer), None), TYPES[dtype], address, len(shape), sizes)
    buffer.kept = sizes
    return buffer


def buffer_of(array, type=None):
    """The same for an array of NumPy; `type`: one of XLA's in place of its own."""
    buffer = buffer_at(array.ctypes.data, array.shape, str(array.dtype))
    buffer.type = buffer.type if type is None else type
    buffer.array = array
    return buffer


def _values_of(arrays):
    buffers = [each if isinstance(each, Buffer) else buffer_of(each) for each in arrays]
    pointers = (c_void_p * max(len(buffers), 1))(*map(addressof, buffers))
    values = Values(Head(sizeof(Values), None), len(buffers), None, pointers)
    values.kept = buffers, pointers
    return values


def _attributes_of(named):
    texts, values, types, kept = [], [], [], []
    for name, value in sorted(named.items()):
        texts.append(Text(name.encode(), len(name)))
        if isinstance(value, str):
            types.append(STRING)
            values.append(Text(value.encode(), len(value)))
        else:
            numbers = np.asarray(value)
            kept.append(numbers)
            types.append(ARRAY)
            values.append(Array(TYPES[str(numbers.dtype)], numbers.size, numbers.ctypes.data))
    arrays = ((c_int32 * max(len(types), 1))(*types), (c_void_p * max(len(texts), 1))(*map(addressof, texts)),
              (c_void_p * max(len(values), 1))(*map(addressof, values)))
    attributes = Attributes(Head(sizeof(Attributes), None), len(types), *arrays)
    attributes.kept = texts, values, arrays, kept
    return attributes


class XlaError(Exception):
    """What a handler has returned."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


class CallSite:
    """A call in an executable: instantiated when it is made, called by any threads, and closed with the executable."""

    def __init__(self, platform="cpu", stream=None, ordinal=0, **attributes):
        self._handler = _Function(_pointer_of(_tokamak.xla_handler(platform)))
        self._type = _tokamak.xla_state_type(platform)
        self._errors = []  # an error is its number among them, from 1
        self._state = None
        self._attributes = _attributes_of(attributes)

        def create_error(request):
            request = ErrorRequest.from_address(request)
            self._errors.append(XlaError(request.code, request.message.decode()))
            return len(self._errors)

        def set_state(request):
            self._state = StateRequest.from_address(request).state

        def get_state(request):
            StateRequest.from_address(request).state = self._state

        def get_stream(request):
            StreamRequest.from_address(request).stream = stream

        def get_ordinal(request):
            OrdinalRequest.from_address(request).ordinal = ordinal

        self._interface = Interface(Head(sizeof(Interface), None), Version(Head(sizeof(Version), None), 0, 3))
        self._functions = {name: _Function(function) for name, function in locals().items() if name in _SLOTS}
        for name, function in self._functions.items():
            self._interface.functions[_SLOTS[name]] = ctypes.cast(function, c_void_p)
        self._call(INSTANTIATE)

    def _call(self, stage, arguments=(), results=()):
        arguments, results = _values_of(arguments), _values_of(results)
        frame = Frame(Head(sizeof(Frame), None), addressof(self._interface), None, stage, arguments, results,
                      self._attributes)
        error = self._handler(addressof(frame))
        if error:
            raise self._errors[error - 1]

    def __call__(self, arguments, results, stage=EXECUTE):
        """Runs with arrays or buffers."""
        self._call(stage, arguments, results)

    def metadata(self):
        """What the handler says of itself."""
        metadata = Metadata(sizeof(Metadata))
        extension = MetadataExtension(sizeof(MetadataExtension), 1, None, ctypes.pointer(metadata))
        frame = Frame(Head(sizeof(Frame), addressof(extension)), addressof(self._interface))
        assert not self._handler(addressof(frame))
        return metadata

    def close(self):
        """The executable goes."""
        TypeInfo.from_address(_pointer_of(self._type["type_info"])).destroy(self._state)
        self._state = None
