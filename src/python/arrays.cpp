#include "python/arrays.h"

#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <typeinfo>

#include <fmt/format.h>

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "base/require.h"
#include "compile/fitting_number.h"
#include "device/tensor_copies.h"
#include "jit/open_device.h"
#include "python/numpy_arrays.h"
#include "python/own_array.h"
#include "python/unlocked.h"

namespace nb = nanobind;

namespace tokamak::python {

namespace {

// By the struct module's letters, which say how wide a number is on this machine.
std::optional<DataType> typeOf(std::string_view format, Py_ssize_t bytes) {
  if (format.size() == 2 &&
      (format[0] == '@' || format[0] == '=' || format[0] == (std::endian::native == std::endian::little ? '<' : '>')))
    format.remove_prefix(1);
  if (format.size() != 1) return std::nullopt;
  switch (format[0]) {
    case '?': return DataType::Bool;
    case 'e': return DataType::F16;
    case 'f': return DataType::F32;
    case 'd': return DataType::F64;
    case 'i':
    case 'l':
    case 'q':
    case 'n': return bytes == 4 ? DataType::I32 : bytes == 8 ? std::optional(DataType::I64) : std::nullopt;
    default: return std::nullopt;
  }
}

void storeElement(const ScalarValue& value, DataType dtype, void* address) {
  const auto write = [&](auto number) { std::memcpy(address, &number, sizeof(number)); };
  const ScalarValue fitting = convertValue(value, dtype);
  switch (dtype) {
    case DataType::Bool: return write(static_cast<uint8_t>(asInt(fitting) != 0));
    case DataType::I32: return write(static_cast<int32_t>(asInt(fitting)));
    case DataType::I64: return write(asInt(fitting));
    case DataType::F32: return write(static_cast<float>(asDouble(fitting)));
    case DataType::F64: return write(asDouble(fitting));
    case DataType::F16: return write(toHalf(static_cast<float>(asDouble(fitting))));
    case DataType::BF16: return write(toBFloat16(static_cast<float>(asDouble(fitting))));
  }
}

// "numpy.ndarray"
std::string typeNameOf(PyObject* given) {
  const nb::handle type(reinterpret_cast<PyObject*>(Py_TYPE(given)));
  const auto module = nb::cast<std::string>(nb::str(type.attr("__module__")));
  const auto name = nb::cast<std::string>(nb::str(type.attr("__qualname__")));
  return module == "builtins" ? name : module + "." + name;
}

bool hasAttribute(PyObject* given, const char* name) { return PyObject_HasAttrString(given, name) != 0; }

std::string sentenceOf(const nb::python_error& error) { return nb::cast<std::string>(nb::str(error.value())); }

// The struct module's letter for "<f4".
std::string floatLetter(std::string_view format) {
  switch (format.at(2)) {
    case '2': return "e";
    case '4': return "f";
    case '8': return "d";
    default: return "";
  }
}

DataType requireType(std::optional<DataType> dtype, std::string_view format) {
  TK_REQUIRE(dtype, Bind,
             "elements of type '{}'; legal are bool, int32, int64, float16, float32 and float64 in this machine's byte "
             "order",
             format);
  return *dtype;
}

Tensor requireWriteable(Tensor tensor, bool is_written) {
  TK_REQUIRE(!is_written || !tensor.buffer()->isReadOnly(), Bind, "an array that may not be written");
  return tensor;
}

// Nothing where the array has no such protocol.
std::optional<dlpack::Device> dlpackDeviceOf(PyObject* given) {
  if (!hasAttribute(given, "__dlpack__") || !hasAttribute(given, "__dlpack_device__")) return std::nullopt;
  int type = 0;
  int id = 0;
  try {
    const nb::object told = nb::handle(given).attr("__dlpack_device__")();
    const bool is_pair = nb::isinstance<nb::tuple>(told) && nb::len(told) == 2 &&
                         nb::try_cast(nb::int_(told[0]), type) && nb::try_cast(nb::int_(told[1]), id);
    TK_REQUIRE(is_pair, Bind, "__dlpack_device__ of {} gives {}; legal is a pair of integers", typeNameOf(given),
               nb::cast<std::string>(nb::repr(told)));
  } catch (const nb::python_error& error) {
    if (!error.matches(PyExc_Exception)) throw;  // KeyboardInterrupt, SystemExit
    TK_RAISE(Bind, "__dlpack_device__ of {} fails: {}", typeNameOf(given), sentenceOf(error));
  }
  return dlpack::Device{.type = static_cast<dlpack::DeviceType>(type), .id = id};
}

std::optional<dlpack::Device> deviceOf(PyObject* given) {
  ArrayView view;
  if (viewNumPyArray(given, view)) return dlpack::Device{};
  const ArrayType* const type = ArrayType::of(given);
  if (type != nullptr && type->view(given, view)) return view.device;
  if (const auto told = dlpackDeviceOf(given)) return told;
  if (PyObject_CheckBuffer(given) != 0) return dlpack::Device{};  // (CuPy's arrays seem to have buffers)
  if (hasAttribute(given, "__cuda_array_interface__")) return dlpack::Device{.type = dlpack::DeviceType::Cuda, .id = 0};
  return std::nullopt;
}

bool isOnGpu(const dlpack::Device& device) {
  return device.type == dlpack::DeviceType::Cuda || device.type == dlpack::DeviceType::CudaManaged;
}

// A copy of what a library gave as version 0.x, which cannot say whether it may be written.
dlpack::ManagedVersioned* versioned(dlpack::Managed* given, bool is_read_only) {
  auto* const made = new dlpack::ManagedVersioned();
  made->context = given;
  made->array = given->array;
  made->flags = is_read_only ? dlpack::kReadOnly : 0;
  made->deleter = [](dlpack::ManagedVersioned* done) {
    auto* const first = static_cast<dlpack::Managed*>(done->context);
    if (first->deleter != nullptr && !Unlocked::isEnding()) first->deleter(first);
    delete done;
  };
  return made;
}

// An object of Python's that keeps the memory of an array.
struct Kept {
  nb::object keeper;
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
  dlpack::ManagedVersioned given;
};

void dropKept(dlpack::ManagedVersioned* given) {
  auto* const kept = static_cast<Kept*>(given->context);
  if (Unlocked::isEnding()) kept->keeper.release();  // nobody may be asked any more
  delete kept;
}

// What __dlpack__ gives, with the stream handshake: the data is there for work on `stream`.
nb::object capsuleOf(PyObject* given, const std::optional<int64_t>& stream) {
  const nb::object function = nb::handle(given).attr("__dlpack__");
  nb::dict named;
  if (stream) named["stream"] = *stream;
  named["max_version"] = nb::make_tuple(1, 1);
  try {
    return function(**named);
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_TypeError)) throw;
  }
  PyDict_DelItemString(named.ptr(), "max_version");  // of before 2023
  return function(**named);
}

// (Of NumPy, or by others who keep to its names.)
void requireWithoutMask(PyObject* given) {
  TK_REQUIRE(!hasAttribute(given, "mask") || !hasAttribute(given, "filled"), Bind,
             "{} has a mask, which programs do not see; legal are its x.filled(value), or x.data with all values",
             typeNameOf(given));
}

}  // namespace

std::optional<ScalarValue> numberOf(PyObject* given, DataType type) {
  if (PyBool_Check(given)) return given == Py_True;
  if (PyFloat_Check(given)) return PyFloat_AsDouble(given);
  if (!PyLong_Check(given)) return std::nullopt;
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(given, &overflow);
  if (overflow == 0) return static_cast<int64_t>(number);
  if (!isFloatingType(type)) return std::nullopt;
  const double real = PyLong_AsDouble(given);
  if (PyErr_Occurred() == nullptr) return real;
  PyErr_Clear();
  return std::nullopt;
}

ScalarValue elementAt(const void* address, DataType dtype) {
  const auto read = [&]<class T>(T value) {
    std::memcpy(&value, address, sizeof(T));
    return value;
  };
  switch (dtype) {
    case DataType::Bool: return read(uint8_t{}) != 0;
    case DataType::I32: return int64_t{read(int32_t{})};
    case DataType::I64: return read(int64_t{});
    case DataType::F32: return static_cast<double>(read(float{}));
    case DataType::F64: return read(double{});
    case DataType::F16: return static_cast<double>(toFloat(read(Half{})));
    case DataType::BF16: return static_cast<double>(toFloat(read(BFloat16{})));
  }
  return int64_t{0};
}

std::vector<PyObject*> objectsOf(const nb::list& list) {
  std::vector<PyObject*> objects;
  for (const nb::handle each : list) objects.push_back(each.ptr());
  return objects;
}

std::vector<size_t> tensorPlacesOf(const std::vector<Val*>& inputs) {
  std::vector<size_t> places;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (asTensor(inputs[i]) != nullptr) places.push_back(i);
  }
  return places;
}

dlpack::Device deviceOfArrays(const std::vector<PyObject*>& inputs) {
  std::optional<dlpack::Device> gpu;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (PyLong_Check(inputs[i]) || PyFloat_Check(inputs[i])) continue;
    const auto describe = [i] { return fmt::format("while taking input {}", i); };
    const ErrorNote note(describe);
    const auto device = deviceOf(inputs[i]);
    if (!device || !isOnGpu(*device)) {
      TK_REQUIRE(!device || device->type == dlpack::DeviceType::Cpu || device->type == dlpack::DeviceType::CudaHost,
                 Bind, "an array on a device of DLPack's type {}; legal are 1 (CPU), 2 (CUDA) and 13 (CUDA managed)",
                 static_cast<int32_t>(device->type));
      continue;
    }
    TK_REQUIRE(!gpu || gpu->id == device->id, Bind,
               "Inputs are not all on the same device! Input {} is on cuda:{}, others on cuda:{}", i, device->id,
               gpu->id);
    gpu = dlpack::Device{.type = dlpack::DeviceType::Cuda, .id = device->id};
  }
  return gpu.value_or(dlpack::Device{});
}

CallArrays::~CallArrays() {
  for (Py_buffer& each : buffers_) PyBuffer_Release(&each);
}

Tensor CallArrays::takeViewed(const ArrayView& view) {
  Device& device = *device_.device;
  if (view.isOnHost())
    return onDevice(Tensor::borrowHost(device, view.data, view.dtype, view.sizesOfAxes(), view.stridesOfAxes().data(),
                                       !view.is_writeable));
  TK_REQUIRE(isOnGpu(view.device) && view.device.id == device.properties().ordinal, Bind,
             "an array on cuda:{} was given to {}", view.device.id, device.properties().name);
  return Tensor::borrow(device, view.data, view.dtype, view.sizesOfAxes(), view.stridesOfAxes(), MemoryKind::Device);
}

// Arrays without axes are as good as numbers.
Tensor CallArrays::onDevice(Tensor tensor) const {
  if (isOnProcessor() || tensor.kind() == MemoryKind::Device) return tensor;
  TK_REQUIRE(tensor.rank() == 0, Bind,
             "CPU non-scalar tensor is not supported! An array on the host with {} axes was given to {}", tensor.rank(),
             device_.device->properties().name);
  return toDevice(tensor, *device_.device, stream_, MemoryKind::Device);
}

std::optional<Tensor> CallArrays::takeBuffer(PyObject* given, bool is_written) {
  if (PyObject_CheckBuffer(given) == 0) return std::nullopt;
  Py_buffer buffer;
  if (PyObject_GetBuffer(given, &buffer, is_written ? PyBUF_FULL : PyBUF_FULL_RO) != 0) {
    PyErr_Clear();
    return std::nullopt;
  }
  buffers_.push_back(buffer);
  if (buffer.suboffsets != nullptr) return std::nullopt;  // elements behind pointers
  const DataType dtype = requireType(typeOf(buffer.format == nullptr ? "" : buffer.format, buffer.itemsize),
                                     buffer.format == nullptr ? "bytes" : buffer.format);
  ArrayView view;
  view.data = buffer.buf;
  view.dtype = dtype;
  view.is_writeable = buffer.readonly == 0;
  TK_REQUIRE(buffer.ndim <= static_cast<int>(Tensor::kMaxRank), Bind, "{} axes; at most {} are legal", buffer.ndim,
             Tensor::kMaxRank);
  view.rank = static_cast<size_t>(buffer.ndim);
  for (size_t i = 0; i < view.rank; ++i) view.sizes[i] = buffer.shape[i];
  if (buffer.strides == nullptr) {  // row-major, as those of ctypes
    fillRowMajorStrides(view.sizesOfAxes(), std::span(view.strides).first(view.rank));
    return takeViewed(view);
  }
  for (size_t i = 0; i < view.rank; ++i) {
    TK_REQUIRE(buffer.strides[i] % buffer.itemsize == 0, Bind,
               "axis {} has a stride of {} bytes, and elements take {}; strides are whole elements", i,
               buffer.strides[i], buffer.itemsize);
    view.strides[i] = buffer.strides[i] / buffer.itemsize;
  }
  return takeViewed(view);
}

std::optional<Tensor> CallArrays::takeDlpack(PyObject* given) {
  const auto device = dlpackDeviceOf(given);
  if (!device) return std::nullopt;
  std::optional<int64_t> stream;
  if (isOnGpu(*device)) {
    const auto handle = reinterpret_cast<intptr_t>(stream_->nativeHandle());
    stream = handle == 0 ? dlpack::kDefaultStream : int64_t{handle};
  }
  const nb::object capsule = capsuleOf(given, stream);
  if (auto* const at = PyCapsule_GetPointer(capsule.ptr(), "dltensor_versioned")) {
    Tensor tensor = device_.arrays.take(static_cast<dlpack::ManagedVersioned*>(at), stream_);
    PyCapsule_SetName(capsule.ptr(), "used_dltensor_versioned");
    return onDevice(std::move(tensor));
  }
  PyErr_Clear();
  auto* const at = PyCapsule_GetPointer(capsule.ptr(), "dltensor");
  if (at == nullptr) throw nb::python_error();
  const bool is_read_only = typeNameOf(given).starts_with("jax");  // whose arrays never change
  std::unique_ptr<dlpack::ManagedVersioned> array(versioned(static_cast<dlpack::Managed*>(at), is_read_only));
  Tensor tensor = device_.arrays.take(array.get(), stream_);
  [[maybe_unused]] auto* const taken = array.release();
  PyCapsule_SetName(capsule.ptr(), "used_dltensor");
  return onDevice(std::move(tensor));
}

// Objects that tell an address on a GPU, as those of Numba do.
std::optional<Tensor> CallArrays::takeCudaArray(PyObject* given) {
  if (!hasAttribute(given, "__cuda_array_interface__")) return std::nullopt;
  const nb::dict told = nb::cast<nb::dict>(nb::handle(given).attr("__cuda_array_interface__"));
  const auto format = nb::cast<std::string>(told["typestr"]);
  const bool is_told = format.size() >= 3;
  const std::string letters = !is_told ? format : format[1] == 'b' ? "?" : format[1] == 'f' ? floatLetter(format) : "q";
  const bool is_swapped = format.starts_with('>');
  const DataType dtype =
      requireType(is_told && !is_swapped ? typeOf(letters, std::atoi(format.c_str() + 2)) : std::nullopt, format);
  auto kept = std::make_unique<Kept>();
  kept->keeper = nb::borrow(given);
  kept->sizes = nb::cast<std::vector<int64_t>>(told["shape"]);
  const nb::object strides = told.contains("strides") ? nb::object(told["strides"]) : nb::none();
  if (!strides.is_none()) {
    for (const auto bytes : nb::cast<std::vector<int64_t>>(strides)) {
      TK_REQUIRE(bytes % sizeOf(dtype) == 0, Bind,
                 "a stride of {} bytes, and elements take {}; strides are whole elements", bytes, sizeOf(dtype));
      kept->strides.push_back(bytes / sizeOf(dtype));
    }
    TK_REQUIRE(kept->strides.size() == kept->sizes.size(), Bind, "{} strides for {} axes", kept->strides.size(),
               kept->sizes.size());
  }
  const nb::object data = told["data"];
  dlpack::ManagedVersioned& array = kept->given;
  array.context = kept.get();
  array.deleter = &dropKept;
  array.flags = nb::cast<bool>(data[1]) ? dlpack::kReadOnly : 0;
  array.array = {.data = std::bit_cast<void*>(nb::cast<uintptr_t>(data[0])),
                 .device = device_.place(),
                 .rank = static_cast<int32_t>(kept->sizes.size()),
                 .type = dlpack::typeOf(dtype),
                 .sizes = kept->sizes.data(),
                 .strides = strides.is_none() ? nullptr : kept->strides.data()};
  waitForProducer(told);
  Tensor tensor = device_.arrays.take(&array, stream_);
  [[maybe_unused]] auto* const taken = kept.release();
  return tensor;
}

// Version 3 tells a stream, behind which the data is there.
void CallArrays::waitForProducer(nb::handle told) const {
  if (!nb::cast<bool>(told.attr("__contains__")("stream"))) return;
  const nb::object stream = told["stream"];
  if (stream.is_none()) return;
  const auto handle = nb::cast<int64_t>(stream);
  auto* const native = handle == dlpack::kDefaultStream ? nullptr : std::bit_cast<void*>(handle);
  Device& device = *device_.device;
  const std::unique_ptr<Event> made = device.createEvent();
  device.record(*made, *adoptCudaStream(device, native));
  device.wait(*stream_, *made);
}

Tensor CallArrays::take(PyObject* given, bool is_written) {
  if (nb::isinstance<OwnArray>(given)) return nb::cast<const OwnArray&>(nb::handle(given)).tensor();
  ArrayView view;
  if (viewNumPyArray(given, view)) return requireWriteable(takeViewed(view), is_written);
  const ArrayType* const type = ArrayType::of(given);
  if (type != nullptr && type->view(given, view) && (view.isOnHost() || isInOrder(*type))) return takeViewed(view);
  requireWithoutMask(given);
  if (auto tensor = takeBuffer(given, is_written)) return *tensor;
  try {
    if (auto tensor = takeDlpack(given)) return requireWriteable(*std::move(tensor), is_written);
    if (auto tensor = takeCudaArray(given)) return requireWriteable(*std::move(tensor), is_written);
  } catch (const nb::python_error& error) {
    if (!error.matches(PyExc_Exception)) throw;  // KeyboardInterrupt, SystemExit
    TK_RAISE(Bind, "{} cannot be read as an array: {}", typeNameOf(given), sentenceOf(error));
  } catch (const std::bad_cast&) {
    TK_RAISE(Bind, "{} cannot be read as an array: what it tells of itself has other types than the protocol's",
             typeNameOf(given));
  }
  TK_RAISE(Bind, "{} cannot be read as an array{}; legal are arrays of numbers in this machine's byte order",
           typeNameOf(given), is_written ? " that may be written" : "");
}

// Whether arrays of this type are there for work on the stream of the call without being asked.
bool CallArrays::isInOrder(const ArrayType& type) const {
  if (isOnProcessor()) return false;
  CallersStream stream;
  return type.currentStream(device_.place(), stream) && stream.handle == stream_->nativeHandle();
}

Argument CallArrays::argument(PyObject* given, const TensorView* tensor, DataType number_type,
                              const std::string& place) {
  const auto describe = [&] { return "while taking " + place; };
  const ErrorNote note(describe);
  const auto number = numberOf(given, number_type);
  TK_REQUIRE(number || !PyLong_Check(given), Bind, "the number does not fit 64 bits");
  if (number) {
    if (tensor == nullptr) return Argument(*number);
    TK_REQUIRE(shapeOf(*tensor).empty(), Bind, "a number for a tensor with {} axes; legal are arrays",
               shapeOf(*tensor).size());
    TK_REQUIRE(fits(*number, tensor->dtype()), Bind, "{} for a tensor of type {}, of which it is no number",
               asDouble(*number), dataTypeName(tensor->dtype()));
    void* const address = &numbers_.emplace_back();
    storeElement(*number, tensor->dtype(), address);
    return Argument(
        onDevice(Tensor::borrowHost(*device_.device, address, tensor->dtype(), {}, nullptr, /*is_read_only=*/true)));
  }
  Tensor array = take(given, /*is_written=*/false);
  if (tensor != nullptr) return Argument(std::move(array));
  TK_REQUIRE(array.rank() == 0, Bind,
             "an array with {} axes for a scalar of type {}; legal are numbers and arrays without axes", array.rank(),
             dataTypeName(number_type));
  return Argument(elementAt(toHost(array, stream_).data(), array.dtype()));
}

Tensor CallArrays::output(PyObject* given, const std::string& place) {
  const auto describe = [&] { return "while taking " + place; };
  const ErrorNote note(describe);
  return take(given, /*is_written=*/true);
}

}  // namespace tokamak::python
