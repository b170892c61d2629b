#include "oracle/tensor.h"

#include <cstring>

#include "base/half.h"
#include "base/require.h"
#include "base/text.h"
#include "oracle/index.h"
#include "oracle/rounding.h"

namespace tokamak::oracle {

namespace {

template <class T>
T readAs(const std::byte* data) {
  T value;
  std::memcpy(&value, data, sizeof(T));
  return value;
}

template <class T>
void writeAs(std::byte* data, T value) {
  std::memcpy(data, &value, sizeof(T));
}

constexpr int64_t kMostElements = int64_t{1} << 32;

}  // namespace

size_t OracleTensor::offsetOf(std::span<const int64_t> index) const {
  int64_t offset = 0;
  for (size_t i = 0; i < sizes.size(); ++i) offset = offset * sizes[i] + index[i];
  return static_cast<size_t>(offset);
}

int64_t countOf(std::span<const int64_t> sizes) {
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  return count;
}

OracleTensor zeros(DataType dtype, std::span<const int64_t> sizes) {
  int64_t count = 1;
  for (const int64_t size : sizes) {
    TK_REQUIRE(size == 0 || count <= kMostElements / size, OutOfMemory,
               "the reference computes every element: {} of {} are more than 2^32", joined(sizes, " x "),
               dataTypeName(dtype));
    count *= size;
  }
  OracleTensor tensor{.dtype = dtype, .sizes = {sizes.begin(), sizes.end()}, .elements = {}};
  tensor.elements.resize(static_cast<size_t>(count));
  return tensor;
}

OracleTensor fromNumbers(DataType dtype, std::span<const int64_t> sizes, std::span<const double> numbers) {
  OracleTensor tensor = zeros(dtype, sizes);
  for (size_t i = 0; i < tensor.elements.size(); ++i) {
    Element& element = tensor.elements[i];
    if (isFloatingType(dtype))
      element.number = static_cast<double>(roundTo(dtype, numbers[i]));
    else if (dtype == DataType::Bool)
      element.integer = static_cast<int64_t>(numbers[i] != 0);
    else
      element.integer = static_cast<int64_t>(numbers[i]);
  }
  return tensor;
}

Element loadElement(DataType dtype, const std::byte* data) {
  switch (dtype) {
    case DataType::F64: return {.number = readAs<double>(data)};
    case DataType::F32: return {.number = readAs<float>(data)};
    case DataType::F16: return {.number = toFloat(readAs<Half>(data))};
    case DataType::BF16: return {.number = toFloat(readAs<BFloat16>(data))};
    case DataType::I32: return {.integer = readAs<int32_t>(data)};
    case DataType::I64: return {.integer = readAs<int64_t>(data)};
    case DataType::Bool: return {.integer = readAs<uint8_t>(data)};
  }
  return {};
}

void storeElement(DataType dtype, const Element& element, std::byte* data) {
  const auto number = static_cast<double>(roundTo(isFloatingType(dtype) ? dtype : DataType::F64, element.number));
  switch (dtype) {
    case DataType::F64: return writeAs(data, number);
    case DataType::F32: return writeAs(data, static_cast<float>(number));
    case DataType::F16: return writeAs(data, toHalf(static_cast<float>(number)));
    case DataType::BF16: return writeAs(data, toBFloat16(static_cast<float>(number)));
    case DataType::I32: return writeAs(data, static_cast<int32_t>(element.integer));
    case DataType::I64: return writeAs(data, element.integer);
    case DataType::Bool: return writeAs(data, static_cast<uint8_t>(element.integer != 0));
  }
}

OracleTensor load(const StoredTensor& stored) {
  OracleTensor tensor = zeros(stored.dtype, stored.sizes);
  int64_t flat = 0;
  forEachIndex(stored.sizes, [&](std::span<const int64_t> index) {
    int64_t offset = flat;
    if (!stored.strides.empty()) {
      offset = 0;
      for (size_t i = 0; i < index.size(); ++i) offset += index[i] * stored.strides[i];
    }
    tensor.elements[static_cast<size_t>(flat++)] =
        loadElement(stored.dtype, stored.data + offset * sizeOf(stored.dtype));
  });
  return tensor;
}

std::vector<std::byte> store(const OracleTensor& tensor) {
  const int64_t width = sizeOf(tensor.dtype);
  std::vector<std::byte> bytes(static_cast<size_t>(tensor.count() * width));
  for (size_t i = 0; i < tensor.elements.size(); ++i) {
    storeElement(tensor.dtype, tensor.elements[i], bytes.data() + i * static_cast<size_t>(width));
  }
  return bytes;
}

}  // namespace tokamak::oracle
