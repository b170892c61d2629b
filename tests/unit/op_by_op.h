// Op-by-op runs of a fusion on the CPU, with operands stored in any layout, compared with the oracle tensor by tensor.
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "device/work.h"
#include "ir/fields.h"
#include "oracle/compare.h"
#include "oracle/evaluate.h"
#include "runtime/cpu/element_loops.h"

namespace tokamak {

enum class Layout : uint8_t { Dense, Permuted, Gapped, Reversed };
inline constexpr Layout kAllLayouts[] = {Layout::Dense, Layout::Permuted, Layout::Gapped, Layout::Reversed};

/// A tensor in host memory; what is not an element of it is filled with a byte that must stay.
class HostTensor {
 public:
  static constexpr std::byte kGap{0xA5};

  HostTensor(DataType dtype, std::vector<int64_t> sizes, Layout layout, std::mt19937& random) {
    const auto rank = sizes.size();
    std::vector<size_t> order(rank);
    for (size_t i = 0; i < rank; ++i) order[i] = i;
    if (layout == Layout::Permuted) std::shuffle(order.begin(), order.end(), random);
    desc_ = {.dtype = dtype, .sizes = std::move(sizes), .strides = std::vector<int64_t>(rank)};
    int64_t count = 1;
    for (size_t i = rank; i-- > 0;) {
      const size_t axis = order[i];
      const int64_t gap = layout == Layout::Gapped ? static_cast<int64_t>(random() % 3) : 0;
      const int64_t scale = layout == Layout::Gapped && random() % 3 == 0 ? 2 : 1;
      count *= scale;
      desc_.strides[axis] = count;
      if (layout == Layout::Reversed && random() % 2 == 0) {
        desc_.strides[axis] = -count;
        origin_ += count * std::max<int64_t>(0, desc_.sizes[axis] - 1);
      }
      count *= std::max<int64_t>(1, desc_.sizes[axis] + gap);
    }
    memory_.assign(static_cast<size_t>(count * sizeOf(dtype)), kGap);
    desc_.alignment = sizeOf(dtype);
  }

  const OperandDesc& desc() const { return desc_; }
  std::byte* address() { return memory_.data() + origin_ * sizeOf(desc_.dtype); }
  oracle::StoredTensor stored() {
    return {.dtype = desc_.dtype, .sizes = desc_.sizes, .strides = desc_.strides, .data = address()};
  }

  template <class Visit>
  void forEachElement(const Visit& visit) {
    if (std::ranges::count(desc_.sizes, 0) > 0) return;
    std::vector<int64_t> index(desc_.sizes.size(), 0);
    for (size_t number = 0;; ++number) {
      int64_t offset = 0;
      for (size_t i = 0; i < index.size(); ++i) offset += index[i] * desc_.strides[i];
      visit(number, address() + offset * sizeOf(desc_.dtype));
      size_t axis = index.size();
      while (axis > 0 && ++index[axis - 1] == desc_.sizes[axis - 1]) index[--axis] = 0;
      if (axis == 0) return;
    }
  }

  void assign(const oracle::OracleTensor& values) {
    forEachElement(
        [&](size_t number, std::byte* at) { oracle::storeElement(desc_.dtype, values.elements[number], at); });
  }
  /// Whether nothing but elements was written.
  bool hasIntactGaps() {
    std::vector<bool> is_element(memory_.size(), false);
    forEachElement([&](size_t, const std::byte* at) {
      for (int64_t i = 0; i < sizeOf(desc_.dtype); ++i) is_element[static_cast<size_t>(at - memory_.data() + i)] = true;
    });
    for (size_t i = 0; i < memory_.size(); ++i) {
      if (!is_element[i] && memory_[i] != kGap) return false;
    }
    return true;
  }
  const std::vector<std::byte>& memory() const { return memory_; }

 private:
  OperandDesc desc_;
  std::vector<std::byte> memory_;
  int64_t origin_ = 0;
};

enum class Values : uint8_t { Exact, Normal, Special };

inline oracle::OracleTensor randomTensor(DataType dtype, const std::vector<int64_t>& sizes, Values values,
                                         std::mt19937& random) {
  oracle::OracleTensor tensor = oracle::zeros(dtype, sizes);
  std::normal_distribution<double> normal;
  const double specials[] = {0.0, -0.0, 1.0, -1.0, INFINITY, -INFINITY, NAN, 1e-41, -1e-41, 3e38, 0.5, 65504, 1e-7};
  for (oracle::Element& element : tensor.elements) {
    element.integer = static_cast<int64_t>(random() % 17) - 8;
    if (dtype == DataType::Bool) element.integer = static_cast<int64_t>(random() % 2);
    if (values != Values::Exact && isIntegerType(dtype) && random() % 4 == 0) {
      element.integer = dtype == DataType::I32 ? static_cast<int32_t>(random()) : static_cast<int64_t>(random()) << 32U;
    }
    if (!isFloatingType(dtype)) continue;
    element.number = static_cast<double>(element.integer);
    if (values != Values::Exact) element.number = normal(random) * 3;
    if (values == Values::Special && random() % 3 == 0) element.number = specials[random() % std::size(specials)];
    element.number = static_cast<double>(oracle::roundTo(dtype, element.number));
    element.integer = 0;
  }
  return tensor;
}

struct OpByOpOptions {
  Layout in = Layout::Dense;
  Layout out = Layout::Dense;
  Values values = Values::Exact;
  int64_t threads = 2;
  uint32_t seed = 1;
  std::function<std::shared_ptr<const CpuWork>(const Expr&, std::span<const OperandDesc>, const ScalarBindings&)>
      prepare = [](const Expr& expr, std::span<const OperandDesc> operands, const ScalarBindings& bindings) {
        return prepareElementWork(expr, operands, bindings);
      };
};

/// Runs every expression of the fusion with `symbols` bound, on random inputs, and expects every tensor to be within
/// the oracle's bounds. Returns the bytes of the outputs.
inline std::vector<std::vector<std::byte>> expectAsOracle(const Fusion& fusion, const ScalarBindings& symbols,
                                                          const OpByOpOptions& options = {}) {
  std::mt19937 random(options.seed);
  std::map<const TensorView*, HostTensor, ById> tensors;
  std::vector<oracle::Input> inputs;
  for (Val* input : fusion.inputs()) {
    if (const Scalar* scalar = asScalar(input)) {
      inputs.emplace_back(symbols.at(scalar));
      continue;
    }
    const TensorView* tensor = asTensor(input);
    std::vector<int64_t> sizes;
    for (const IterDomain* axis : shapeOf(*tensor)) sizes.push_back(evaluateInt(*axis->visibleExtent(), symbols));
    const oracle::OracleTensor values = randomTensor(tensor->dtype(), sizes, options.values, random);
    inputs.emplace_back(values);
    HostTensor stored(tensor->dtype(), sizes, options.in, random);
    stored.assign(values);
    tensors.emplace(tensor, std::move(stored));
  }
  using oracle::Keep;
  const auto expected = oracle::evaluate(fusion, inputs, {.keep = Keep::Everything, .bindings = symbols});
  BlockPool pool(options.threads);
  for (const Expr* expr : fusion.exprs()) {
    const TensorView* out = asTensor(expr->output(0));
    std::vector<OperandDesc> descs;
    std::vector<void*> addresses;
    for (const TensorView* in : tensorsOf(expr->inputs())) {
      descs.push_back(tensors.at(in).desc());
      addresses.push_back(tensors.at(in).address());
    }
    std::vector<int64_t> sizes;
    for (const IterDomain* axis : shapeOf(*out))
      sizes.push_back(evaluateInt(*axis->visibleExtent(), expected.bindings));
    HostTensor& result = tensors.emplace(out, HostTensor(out->dtype(), sizes, options.out, random)).first->second;
    descs.push_back(result.desc());
    addresses.push_back(result.address());
    const auto work = options.prepare(*expr, descs, expected.bindings);
    work->run(addresses.data(), pool);
    EXPECT_TRUE(result.hasIntactGaps()) << callName(*expr);
    // The next op starts from what this one gave, the oracle from what it should have given: bounds carry that.
    const auto comparison = oracle::compare(result.stored(), expected.tensors.at(out));
    EXPECT_EQ(comparison.mismatches, 0) << callName(*expr) << " -> " << toString(*out) << "\n"
                                        << oracle::toString(comparison);
  }
  std::vector<std::vector<std::byte>> outputs;
  for (const TensorView* output : fusion.outputs()) outputs.push_back(tensors.at(output).memory());
  return outputs;
}

}  // namespace tokamak
