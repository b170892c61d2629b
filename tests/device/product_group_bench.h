// GroupBench: products with activations on a CUDA device, compared with the reference.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "device/tensor_copies.h"
#include "device/work.h"
#include "host_run/program_text.h"
#include "host_run/run_bench.h"
#include "ir/ops/host/post_on_stream.h"
#include "oracle/index.h"
#include "oracle/reference.h"
#include "oracle/rounding.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda/product_work.h"

namespace tokamak {

/// Normal numbers, rounded to the type, laid out as the tensor says; axes that are not dense have gaps.
inline Tensor drawn(RunBench& host, const TensorView& tensor, double scale, uint32_t seed) {
  std::vector<int64_t> sizes;
  for (const IterDomain* axis : shapeOf(tensor)) sizes.push_back(evaluateInt(*axis->extent(), {}));
  const Axes& order = tensor.domain().allocation.empty() ? tensor.logical() : tensor.domain().allocation;
  std::vector<int64_t> strides(sizes.size());
  int64_t stride = 1;
  for (size_t i = order.size(); i-- > 0;) {
    const auto axis = static_cast<size_t>(std::ranges::find(tensor.logical(), order[i]) - tensor.logical().begin());
    if (tensor.domain().contiguity[i] == false) stride *= 2;
    strides[axis] = stride;
    stride *= sizes[axis];
  }
  Tensor result = host.empty(tensor.dtype(), sizes, strides);
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0, scale);
  auto* const data = static_cast<std::byte*>(result.hostData());
  oracle::forEachIndex(sizes, [&](std::span<const int64_t> index) {
    const int64_t offset = std::inner_product(index.begin(), index.end(), strides.begin(), int64_t{0});
    oracle::Element element;
    element.number = static_cast<double>(oracle::roundTo(tensor.dtype(), normal(random)));
    oracle::storeElement(tensor.dtype(), element, data + offset * sizeOf(tensor.dtype()));
  });
  return result;
}

/// With all activations.
inline KernelTarget activatingTarget() {
  KernelTarget target = hopperTarget();
  target.product_activations = kAllProductActivations;
  return target;
}

/// Runs a program with numbers for extents, of which products are of ordinary size, and compares with the reference in
/// both modes.
class GroupBench {
 public:
  explicit GroupBench(CudaDevice& device, ProductActivations activations = kAllProductActivations)
      : device_(device), stream_(device.createStream()), target_(device.kernelTarget()) {
    target_.product_activations = activations;
  }

  /// `reference`: the program with which results are compared, if it is another one.
  void expectRight(const std::string& text, const std::string& reference = {}) {
    SCOPED_TRACE(text);
    const Ran ran = runs(text);
    expectAsReference(*fusionOf(reference.empty() ? text : reference), ran.inputs, ran.outputs);
  }
  /// Within 1e-5 and a rounding to the result's type: what an approximate tanh leaves.
  void expectNear(const std::string& text, const std::string& reference) {
    SCOPED_TRACE(text);
    const Ran ran = runs(text);
    const oracle::Evaluation exact = oracle::evaluate(*fusionOf(reference), ran.inputs);
    ASSERT_EQ(ran.outputs.size(), exact.outputs.size());
    const Tensor output = toHost(ran.outputs[0], stream_);
    const std::vector<double> numbers = numbersOf(output);
    const auto& expected = exact.outputs[0].elements;
    ASSERT_EQ(numbers.size(), expected.size());
    const double rounding = output.dtype() == DataType::BF16 ? 0x1p-8 : output.dtype() == DataType::F16 ? 0x1p-11 : 0;
    for (size_t i = 0; i < numbers.size(); ++i) {
      const auto wanted = static_cast<double>(expected[i].number);
      ASSERT_NEAR(numbers[i], wanted, 1e-5 + rounding * std::abs(wanted)) << "element " << i;
    }
  }
  /// Of the last program's plan.
  int64_t steps() const { return steps_; }
  /// Of its first output.
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  struct Ran {
    std::vector<oracle::Input> inputs;
    std::vector<Tensor> outputs;
  };
  Ran runs(const std::string& text) {
    const auto fusion = fusionOf(text);
    std::vector<RunValue> values;
    std::vector<RunValue> on_device;
    for (const TensorView* input : tensorsOf(fusion->inputs())) {
      // Sums of so many products come out between -6 and 6, where activations bend.
      const double scale = values.empty() ? 1 : 2.0 / std::sqrt(static_cast<double>(innerOf(*input)));
      values.emplace_back(drawn(host_, *input, scale, static_cast<uint32_t>(values.size() + 1)));
      on_device.emplace_back(toDevice(std::get<Tensor>(values.back()), device_, stream_, MemoryKind::Device));
    }
    MultiDeviceExecutor executor(*fusion, device_, {.lowering = {.target = target_}});
    steps_ = executor.planFor(on_device).summary().steps;
    std::vector<Tensor> outputs = executor.runWithInput(on_device);
    bytes_ = bytesOf(toHost(outputs.at(0), stream_));
    return {oracleInputsOf(values), std::move(outputs)};
  }

  static int64_t innerOf(const TensorView& tensor) {
    const Axes shape = shapeOf(tensor);
    return shape.empty() ? 1 : std::max<int64_t>(1, evaluateInt(*shape.back()->extent(), {}));
  }

  void expectAsReference(const Fusion& fusion, const std::vector<oracle::Input>& inputs,
                         const std::vector<Tensor>& outputs) {
    const oracle::Reference reference(fusion, inputs);
    ASSERT_EQ(outputs.size(), fusion.outputs().size());
    for (size_t i = 0; i < outputs.size(); ++i) {
      const Tensor output = toHost(outputs[i], stream_);
      const oracle::StoredTensor stored = {output.dtype(), output.sizes(), output.strides(),
                                           static_cast<const std::byte*>(output.hostData())};
      const oracle::Comparison comparison = reference.compare(i, stored);
      EXPECT_TRUE(comparison.isOk()) << oracle::toString(comparison);
    }
  }

  CudaDevice& device_;
  std::shared_ptr<Stream> stream_;
  KernelTarget target_;
  RunBench host_;
  int64_t steps_ = 0;
  std::vector<std::byte> bytes_;
};

/// The activation of T8 in the type, and the cast to it.
inline std::string activationOf(const std::string& name, const char* type) {
  return type == std::string("f32") ? fmt::format("{}(T8)", name) : fmt::format("cast({}(T8), dtype={})", name, type);
}

struct GroupProgram {
  std::string text;
  std::string rounded_once;  ///< the same with a product that stays f32
  const char* name = "";     ///< of the activation
};

/// T8 is the product, T9 the result. `inputs`: with {0} for the type; `product`: a call with T0, T1, T2.
inline GroupProgram groupProgram(const std::string& inputs, const std::string& product, const char* name,
                                 const char* type) {
  const auto programWith = [&](const char* operand) {
    std::string call = product;
    for (const char* tensor : {"T0", "T1", "T2"}) {
      const size_t at = call.find(tensor);
      if (at != std::string::npos) call.replace(at, 2, fmt::format(fmt::runtime(operand), tensor));
    }
    return fmt::format("fusion f({}) -> T9 {{ T8 = {} T9 = {} }}", fmt::format(fmt::runtime(inputs), type), call,
                       activationOf(name, type));
  };
  return {.text = programWith("{}"), .rounded_once = programWith("cast({}, dtype=f32)"), .name = name};
}

/// A bias that lies across the result's rows; operands that the library does not take as they lie.
inline std::vector<GroupProgram> refusedPrograms(const char* type) {
  std::vector<GroupProgram> programs;
  for (const char* name : {"relu", "gelu_tanh"}) {
    programs.push_back({.text = fmt::format("fusion f(T0: {0}[48, 64], T1: {0}[72, 64], T2: {0}[72]) -> T9 {{ "
                                            "T8 = linear(T0, T1, T2) T9: {0}[48, 72] allocation(1, 0) = {1} }}",
                                            type, activationOf(name, type)),
                        .rounded_once = {}});
    programs.push_back({.text = fmt::format("fusion f(T0: {0}[48, 64] strided, T1: {0}[72, 64]) -> T9 {{ "
                                            "T8 = linear(T0, T1) T9 = {1} }}",
                                            type, activationOf(name, type)),
                        .rounded_once = {}});
  }
  return programs;
}

/// A group as a device gets it: i0 x 16 times 16 x 24.
class GroupRequest {
 public:
  GroupRequest(const char* name, const char* type) {
    const auto fusion =
        fusionOf(fmt::format("fusion f(T0: {0}[i0, 16], T1: {0}[24, 16]) -> T9 {{ T8 = linear(T0, T1) T9 = {1} }}",
                             type, activationOf(name, type)));
    program_ = makeHostProgram(*fusion, {.target = activatingTarget()});
    dtype_ = asTensor(fusion->inputs()[0])->dtype();
  }

  std::shared_ptr<const ProductWork> prepare(CudaDevice& device, int64_t rows) const {
    const auto matrix = [&](int64_t of_rows, int64_t columns) {
      return OperandDesc{.dtype = dtype_, .sizes = {of_rows, columns}, .strides = {columns, 1}, .alignment = 256};
    };
    const std::vector<OperandDesc> operands = {matrix(rows, 16), matrix(24, 16), matrix(rows, 24)};
    const Expr& segment = *program_->topLevel().exprs.at(0);
    ScalarBindings bindings;
    for (const Scalar* symbol : segment.as<PostOnStream>()->segment->fusion->allSymbols()) bindings[symbol] = rows;
    return std::static_pointer_cast<const ProductWork>(
        device.prepare({.expr = segment, .operands = operands, .bindings = bindings}));
  }

 private:
  std::unique_ptr<HostIrContainer> program_;
  DataType dtype_ = DataType::F32;
};

/// Each product with each activation.
inline std::vector<GroupProgram> programsOf(const char* type) {
  std::vector<GroupProgram> programs;
  const std::vector<std::pair<const char*, const char*>> products = {
      {"T0: {0}[48, 64], T1: {0}[72, 64], T2: {0}[72]", "linear(T0, T1, T2)"},
      {"T0: {0}[48, 64], T1: {0}[72, 64]", "linear(T0, T1)"},
      {"T0: {0}[2, 3, 8, 64], T1: {0}[72, 64], T2: {0}[72]", "linear(T0, T1, T2)"},
      {"T0: {0}[48, 64] allocation(1, 0), T1: {0}[64, 72]", "matmul(T0, T1)"},
      {"T0: {0}[48, 64], T1: {0}[64, 72] allocation(1, 0)", "matmul(T0, T1)"},
      {"T0: {0}[3, 16, 64], T1: {0}[3, 64, 24]", "matmul(T0, T1)"},
      {"T0: {0}[2, 3, 16, 64], T1: {0}[3, 64, 24]", "matmul(T0, T1)"},
      {"T0: {0}[64], T1: {0}[72, 64], T2: {0}[72]", "linear(T0, T1, T2)"},
  };
  for (const auto& [inputs, product] : products)
    for (const char* name : {"relu", "gelu_tanh"}) programs.push_back(groupProgram(inputs, product, name, type));
  return programs;
}

}  // namespace tokamak
