#include "host_run/run_bench.h"

#include "analysis/bind_shape.h"
#include "base/require.h"
#include "oracle/compare.h"

namespace tokamak {

namespace {

// Calls visit(offset in elements) for each element, row-major.
template <class Visit>
void forEachElement(const Tensor& tensor, const Visit& visit) {
  const auto rank = static_cast<size_t>(tensor.rank());
  std::vector<int64_t> index(rank, 0);
  for (int64_t n = 0; n < tensor.numel(); ++n) {
    int64_t offset = 0;
    for (size_t axis = 0; axis < rank; ++axis) offset += index[axis] * tensor.strides()[axis];
    visit(offset);
    for (size_t axis = rank; axis-- > 0 && ++index[axis] == tensor.sizes()[axis];) index[axis] = 0;
  }
}

oracle::StoredTensor stored(const Tensor& tensor) {
  return {tensor.dtype(), tensor.sizes(), tensor.strides(), static_cast<const std::byte*>(tensor.hostData())};
}

oracle::Element elementOf(DataType dtype, double number) {
  oracle::Element element;
  if (isFloatingType(dtype))
    element.number = number;
  else
    element.integer = dtype == DataType::Bool ? (number > 0 ? 1 : 0) : static_cast<int64_t>(number);
  return element;
}

uint64_t mixed(uint64_t x) {
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31U);
}

}  // namespace

RunBench::RunBench(const CpuDeviceOptions& options) : device(options), stream(device.createStream()) {}

Tensor RunBench::empty(DataType dtype, std::vector<int64_t> sizes, std::vector<int64_t> strides) {
  if (strides.empty() && !sizes.empty()) {
    strides.resize(sizes.size());
    fillRowMajorStrides(sizes, strides);
  }
  const int64_t bytes = spanOf(sizes, strides) * sizeOf(dtype);
  auto buffer = Buffer::allocate(device, stream, bytes, MemoryKind::Device);
  device.fill(*stream, buffer->address(), 0xFF, bytes);
  device.synchronize(*stream);
  return {std::move(buffer), 0, dtype, sizes, strides};
}

Tensor RunBench::numbers(DataType dtype, std::vector<int64_t> sizes, const std::vector<double>& elements) {
  Tensor tensor = empty(dtype, std::move(sizes));
  size_t next = 0;
  auto* data = static_cast<std::byte*>(tensor.hostData());
  forEachElement(tensor, [&](int64_t offset) {
    oracle::storeElement(dtype, elementOf(dtype, elements.at(next++)), data + offset * sizeOf(dtype));
  });
  return tensor;
}

Tensor RunBench::random(DataType dtype, std::vector<int64_t> sizes, uint64_t seed, std::vector<int64_t> strides) {
  Tensor tensor = empty(dtype, std::move(sizes), std::move(strides));
  auto* data = static_cast<std::byte*>(tensor.hostData());
  uint64_t state = seed * 0x9e3779b97f4a7c15ULL;
  forEachElement(tensor, [&](int64_t offset) {
    const uint64_t bits = mixed(++state * 0x9e3779b97f4a7c15ULL);
    const double number =
        isFloatingType(dtype) ? (static_cast<double>(bits % 513) - 256) / 64 : static_cast<double>(bits % 17) - 8;
    oracle::storeElement(dtype, elementOf(dtype, number), data + offset * sizeOf(dtype));
  });
  return tensor;
}

std::vector<RunValue> RunBench::inputsOf(const Fusion& fusion, const Sizes& sizes, uint64_t seed) {
  ScalarBindings bindings;
  for (const auto& [symbol, size] : fusion.defaultSizes()) bindings[symbol] = size;
  for (const Scalar* symbol : fusion.allSymbols()) {
    if (const auto size = sizes.find(symbol->name()); size != sizes.end()) bindings[symbol] = size->second;
  }
  std::vector<RunValue> values;
  for (Val* input : fusion.inputs()) {
    const TensorView* tensor = asTensor(input);
    TK_REQUIRE(tensor != nullptr, Usage, "inputsOf: {} has a scalar among its inputs", fusion.name());
    const std::vector<int64_t> extents = sizesOf(*tensor, bindings);
    std::vector<int64_t> strides;
    if (tensor->domain().stride_order) strides = freshStrides(*tensor, extents);
    values.emplace_back(random(tensor->dtype(), extents, seed++, std::move(strides)));
  }
  return values;
}

std::vector<double> numbersOf(const Tensor& tensor) {
  const auto* data = static_cast<const std::byte*>(tensor.hostData());
  std::vector<double> numbers;
  forEachElement(tensor, [&](int64_t offset) {
    const oracle::Element element = oracle::loadElement(tensor.dtype(), data + offset * sizeOf(tensor.dtype()));
    numbers.push_back(isFloatingType(tensor.dtype()) ? element.number : static_cast<double>(element.integer));
  });
  return numbers;
}

std::vector<std::byte> bytesOf(const Tensor& tensor) {
  const auto* data = static_cast<const std::byte*>(tensor.hostData());
  const int64_t width = sizeOf(tensor.dtype());
  std::vector<std::byte> bytes;
  forEachElement(
      tensor, [&](int64_t offset) { bytes.insert(bytes.end(), data + offset * width, data + (offset + 1) * width); });
  return bytes;
}

std::vector<oracle::Input> oracleInputsOf(const std::vector<RunValue>& inputs) {
  std::vector<oracle::Input> result;
  for (const RunValue& value : inputs) {
    if (const auto* tensor = std::get_if<Tensor>(&value))
      result.emplace_back(oracle::load(stored(*tensor)));
    else
      result.emplace_back(std::get<ScalarValue>(value));
  }
  return result;
}

std::string differenceFromOracle(const Fusion& fusion, const std::vector<oracle::Input>& inputs,
                                 const std::vector<Tensor>& outputs) {
  const oracle::Evaluation exact = oracle::evaluate(fusion, inputs);
  if (exact.outputs.size() != outputs.size()) return "another number of outputs";
  for (size_t i = 0; i < outputs.size(); ++i) {
    const oracle::Comparison comparison = oracle::compare(stored(outputs[i]), exact.outputs[i]);
    if (!comparison.isOk()) return "output " + std::to_string(i) + ": " + oracle::toString(comparison);
  }
  return "";
}

std::vector<std::pair<Val*, RunValue>> bound(const HostIrContainer& program, const std::vector<RunValue>& inputs) {
  std::vector<std::pair<Val*, RunValue>> values;
  for (size_t i = 0; i < inputs.size(); ++i) values.emplace_back(program.inputs().at(i), inputs[i]);
  return values;
}

TensorView* tensorOf(const HostIrContainer& program, int64_t label) {
  for (TensorView* tensor : program.allTensors()) {
    if (tensor->label() == label) return tensor;
  }
  TK_RAISE(Usage, "the program has no T{}", label);
}

}  // namespace tokamak
