#include "python/arrays.h"

#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "base/require.h"

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

std::string typeNameOf(PyObject* given) { return Py_TYPE(given)->tp_name; }

}  // namespace

std::optional<ScalarValue> numberOf(PyObject* given) {
  if (PyBool_Check(given)) return given == Py_True;
  if (PyFloat_Check(given)) return PyFloat_AsDouble(given);
  if (!PyLong_Check(given)) return std::nullopt;
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(given, &overflow);
  if (overflow != 0) return std::nullopt;
  return static_cast<int64_t>(number);
}

BorrowedArrays::~BorrowedArrays() {
  for (Py_buffer& each : buffers_) PyBuffer_Release(&each);
}

Tensor BorrowedArrays::wrap(Device& device, PyObject* given, bool is_written, const std::string& place) {
  Py_buffer buffer;
  if (PyObject_GetBuffer(given, &buffer, is_written ? PyBUF_FULL : PyBUF_FULL_RO) != 0) {
    PyErr_Clear();
    TK_RAISE(Bind, "{}: {} cannot be read as an array{}; legal are arrays of numbers in this machine's byte order",
             place, typeNameOf(given), is_written ? " that may be written" : "");
  }
  buffers_.push_back(buffer);
  const auto dtype = typeOf(buffer.format == nullptr ? "" : buffer.format, buffer.itemsize);
  TK_REQUIRE(dtype, Bind,
             "{}: elements of type '{}'; legal are bool, int32, int64, float16, float32 and float64 in this "
             "machine's byte order",
             place, buffer.format == nullptr ? "bytes" : buffer.format);
  std::vector<int64_t> sizes(static_cast<size_t>(buffer.ndim));
  std::vector<int64_t> strides(sizes.size());
  for (size_t i = 0; i < sizes.size(); ++i) {
    sizes[i] = buffer.shape[i];
    TK_REQUIRE(buffer.strides[i] % buffer.itemsize == 0, Bind,
               "{}: axis {} has a stride of {} bytes, and elements take {}; strides are whole elements", place, i,
               buffer.strides[i], buffer.itemsize);
    strides[i] = buffer.strides[i] / buffer.itemsize;
  }
  const ErrorNote note([&] { return "while taking " + place; });
  return Tensor::borrowHost(device, buffer.buf, *dtype, sizes, strides.data(), buffer.readonly != 0);
}

Argument BorrowedArrays::argument(Device& device, PyObject* given, const TensorView* tensor, DataType number_type,
                                  const std::string& place) {
  const auto number = numberOf(given);
  TK_REQUIRE(number || !PyLong_Check(given), Bind, "{}: the number does not fit 64 bits", place);
  if (number) {
    if (tensor == nullptr) return Argument(*number);
    TK_REQUIRE(shapeOf(*tensor).empty(), Bind, "{}: a number for a tensor with {} axes; legal are arrays", place,
               shapeOf(*tensor).size());
    void* const address = &numbers_.emplace_back();
    storeElement(*number, tensor->dtype(), address);
    return Argument(Tensor::borrowHost(device, address, tensor->dtype(), {}, nullptr, /*is_read_only=*/true));
  }
  Tensor array = wrap(device, given, /*is_written=*/false, place);
  if (tensor != nullptr) return Argument(std::move(array));
  TK_REQUIRE(array.rank() == 0, Bind,
             "{}: an array with {} axes for a scalar of type {}; legal are numbers and arrays "
             "without axes",
             place, array.rank(), dataTypeName(number_type));
  return Argument(elementAt(array.data(), array.dtype()));
}

Tensor BorrowedArrays::output(Device& device, PyObject* given, const std::string& place) {
  return wrap(device, given, /*is_written=*/true, place);
}

}  // namespace tokamak::python
