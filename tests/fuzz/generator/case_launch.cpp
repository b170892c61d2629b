#include "generator/case_launch.h"
#include "device/work.h"

#include <algorithm>

#include "analysis/bind_shape.h"
#include "base/require.h"
#include "kernel/bind_kernel.h"
#include "oracle/compare.h"

namespace tokamak::generator {

namespace {

int64_t alignmentOf(const void* address) {
  const auto number = reinterpret_cast<uintptr_t>(address);
  return std::min<int64_t>(256, static_cast<int64_t>(number & (~number + 1)));
}

}  // namespace

CaseLaunch::CaseLaunch(const Fusion& fusion, const std::vector<InputData>& inputs, const KernelRecipe& recipe) {
  ScalarBindings bindings;
  const std::vector<OperandDesc> operands = makeBuffers(fusion, inputs, bindings);
  prepared_ = prepareKernel(fusion, operands, bindings, recipe);
}

CaseLaunch::CaseLaunch(const Fusion& fusion, const std::vector<InputData>& inputs, kir::Kernel kernel) {
  ScalarBindings bindings;
  const std::vector<OperandDesc> operands = makeBuffers(fusion, inputs, bindings);
  prepared_.kernel = std::move(kernel);
  for (size_t i = 0; i < operands.size(); ++i)
    kir::bindBuffer(prepared_.kernel, i, operands[i].sizes, operands[i].strides, prepared_.bindings);
}

std::vector<OperandDesc> CaseLaunch::makeBuffers(const Fusion& fusion, const std::vector<InputData>& inputs,
                                                 ScalarBindings& bindings) {
  std::vector<OperandDesc> operands;
  inputs_.reserve(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (const auto* scalar = std::get_if<ScalarValue>(&inputs[i])) {
      bindings[asScalar(fusion.inputs()[i])] = *scalar;
      continue;
    }
    const StoredData& copy = inputs_.emplace_back(std::get<StoredData>(inputs[i]));
    bindShape(*asTensor(fusion.inputs()[i]), copy.sizes, bindings);
    operands.push_back({copy.dtype, copy.sizes, copy.strides, alignmentOf(copy.view().data)});
  }
  outputs_.reserve(fusion.outputs().size());
  for (const TensorView* tensor : fusion.outputs()) {
    StoredData& output = outputs_.emplace_back();
    output.dtype = tensor->dtype();
    output.sizes = sizesOf(*tensor, bindings);
    output.strides = freshStrides(*tensor, output.sizes);
    const int64_t elements = spanOf(output.sizes, output.strides);
    output.bytes.assign(static_cast<size_t>(std::max<int64_t>(1, elements) * sizeOf(tensor->dtype())), std::byte{0xA5});
    operands.push_back({output.dtype, output.sizes, output.strides, alignmentOf(output.bytes.data())});
    // A device writes one element of an expanded axis.
    const Axes shape = shapeOf(*tensor);
    for (size_t k = 0; k < shape.size(); ++k) {
      if (output.strides[k] == 0) operands.back().sizes[k] = 1;
    }
  }
  return operands;
}

CaseLaunch::Result CaseLaunch::run(const kir::Kernel& kernel, const ScalarBindings& bindings,
                                   const InterpreterOptions& options) const {
  Result result = poisoned();
  const std::vector<KernelBuffer> buffers = buffersOf(result);
  result.findings = interpretKernel(kernel, buffers, bindings, options);
  return result;
}

std::vector<KernelBuffer> CaseLaunch::buffersOf(Result& result) const {
  std::vector<KernelBuffer> buffers;
  for (const StoredData& input : inputs_) {
    const int64_t size = sizeOf(input.dtype);
    // Inputs are only read.
    buffers.push_back({const_cast<std::byte*>(input.bytes.data()) + input.offset * size,
                       static_cast<int64_t>(input.bytes.size()) / size - input.offset, /*is_written=*/true});
  }
  for (StoredData& output : result.outputs)
    buffers.push_back({output.bytes.data(), spanOf(output.sizes, output.strides), /*is_written=*/false});
  return buffers;
}

ScalarBindings CaseLaunch::bindingsFor(const kir::Kernel& parsed) const {
  const std::vector<Scalar*>& symbols = prepared_.kernel.symbols;
  TK_CHECK(parsed.symbols.size() == symbols.size(), "a kernel of {} symbols is read as one of {}", symbols.size(),
           parsed.symbols.size());
  ScalarBindings bindings;
  for (size_t i = 0; i < symbols.size(); ++i) {
    const auto found = prepared_.bindings.find(symbols[i]);
    if (found != prepared_.bindings.end()) bindings[parsed.symbols[i]] = found->second;
  }
  return bindings;
}

}  // namespace tokamak::generator
