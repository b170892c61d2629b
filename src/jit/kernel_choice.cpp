#include "jit/kernel_choice.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <span>

#include <fmt/format.h>

#include "base/require.h"
#include "base/text.h"
#include "device/work.h"
#include "ir/ops/math/reduction_op.h"
#include "kernel/complete_kernel.h"
#include "schedule/schedule_checks.h"

namespace tokamak {

namespace {

// Where the symbols of extents stand: in an axis with others inside of it, in a tensor's only axis, in an inner axis.
struct SymbolPlaces {
  std::set<Scalar*, ById> outer;
  std::set<Scalar*, ById> only;
  std::set<Scalar*, ById> inner;

  bool contain(Scalar* symbol) const {
    return outer.contains(symbol) || only.contains(symbol) || inner.contains(symbol);
  }
};

SymbolPlaces symbolPlaces(const Fusion& program) {
  SymbolPlaces places;
  for (const TensorView* tensor : program.allTensors()) {
    const Axes& axes = tensor->logical();
    for (size_t i = 0; i < axes.size(); ++i) {
      auto& place = i > 0 ? places.inner : axes.size() > 1 ? places.outer : places.only;
      kir::collectSymbols(*axes[i]->extent(), place);
      if (axes[i]->expandedExtent() != nullptr) kir::collectSymbols(*axes[i]->expandedExtent(), place);
    }
  }
  return places;
}

// Axes of the same extents, none of them broadcast or reduced: then all goes element by element, in one loop where
// memory is dense.
bool haveOneShape(const std::vector<TensorView*>& tensors) {
  const auto extents = [](const TensorView& tensor) {
    std::vector<const Scalar*> result;
    for (const IterDomain* axis : tensor.logical())
      result.push_back(axis->isBroadcast() || axis->isReduction() ? nullptr : axis->extent());
    return result;
  };
  return std::ranges::all_of(tensors, [&](const TensorView* tensor) {
    const auto shape = extents(*tensor);
    return std::ranges::find(shape, nullptr) == shape.end() && shape == extents(*tensors.front());
  });
}

bool isEmpty(const OperandDesc& operand) { return std::ranges::find(operand.sizes, 0) != operand.sizes.end(); }

std::string describeExtent(const std::string& name, const ExtentChoice& extent) {
  switch (extent.form) {
    case ExtentChoice::Form::Any: return fmt::format("any {}", name);
    case ExtentChoice::Form::Constant: return fmt::format("{} = {}", name, extent.value);
    case ExtentChoice::Form::Multiple: return fmt::format("{} a multiple of {}", name, extent.value);
  }
  TK_CHECK(false, "no such form of an extent");
}

std::string extentDifference(const std::string& name, const ExtentChoice& known, const ExtentChoice& asked) {
  const auto words = [](const ExtentChoice& extent) {
    switch (extent.form) {
      case ExtentChoice::Form::Any: return std::string("any");
      case ExtentChoice::Form::Constant: return fmt::to_string(extent.value);
      case ExtentChoice::Form::Multiple: return fmt::format("a multiple of {}", extent.value);
    }
    TK_CHECK(false, "no such form of an extent");
  };
  return fmt::format("extent {} was {}, is {}", name, words(known), words(asked));
}

std::string orderText(const LayoutChoice& layout) {
  std::vector<size_t> order = layout.order;
  if (order.empty()) {
    order.resize(layout.is_dense.size());
    std::iota(order.begin(), order.end(), size_t{0});
  }
  return fmt::format("({})", joined(order));
}

}  // namespace

// Loops of tensors, or of the results of reductions, that a schedule leaves outside of the loops of readers: each block
// has buffers for these iterations, whose sizes a C compiler has to know.
struct KeptLoops {
  bool are_of_whole_tensors = false;  // of one at least
  std::set<Scalar*, ById> sizes;
};

static KeptLoops keptLoopsOf(const Fusion& program) {
  KeptLoops kept;
  for (const TensorView* tensor : program.allTensors()) {
    if (program.isInput(tensor)) continue;
    if (program.isOutput(tensor) && (tensor->definition() == nullptr || !tensor->definition()->is<ReductionOp>()))
      continue;
    const std::span<IterDomain* const> loops(tensor->loop());
    for (const IterDomain* axis : loops.subspan(static_cast<size_t>(tensor->inlinePosition()))) {
      if (axis->isReduction() || axis->parallelType() != ParallelType::Serial) continue;
      kept.are_of_whole_tensors = kept.are_of_whole_tensors || tensor->inlinePosition() == 0;
      kir::collectSymbols(*axis->extent(), kept.sizes);
    }
  }
  return kept;
}

// That of the first output's outermost axis stays as it is, so that the kernel is the same for every length of that;
// where it may be the innermost one as well, what is known of its divisors becomes part of it. The others are
// constants: divisions by them are cheap then, registers can hold what has such a size, and accesses are known to be
// aligned. Where nothing would be gained - all tensors have one shape - they are not. All are where a schedule keeps
// something whole, and those of the buffers that it keeps in loops.
ShapeChooser::ShapeChooser(const Fusion& program, std::vector<Scalar*> symbols, ExtentPolicy policy)
    : symbols_(std::move(symbols)),
      roles_(symbols_.size(), Role::Any),
      opened_(policy == ExtentPolicy::Divisors ? Role::Multiple : Role::Any),
      tensors_(tensorsOf(program.inputs())),
      input_count_(tensors_.size()),
      is_scheduled_(tokamak::isScheduled(program)) {
  tensors_.insert(tensors_.end(), program.outputs().begin(), program.outputs().end());
  if (policy == ExtentPolicy::Open) return;
  const SymbolPlaces places = symbolPlaces(program);
  const KeptLoops buffers = is_scheduled_ ? keptLoopsOf(program) : KeptLoops();
  const bool has_constants = !haveOneShape(program.allTensors());
  std::set<Scalar*, ById> kept;
  if (!program.outputs().empty()) {
    const Axes shape = shapeOf(*program.outputs()[0]);
    if (!shape.empty()) kir::collectSymbols(*shape[0]->extent(), kept);
  }
  for (size_t i = 0; i < symbols_.size(); ++i) {
    Scalar* symbol = symbols_[i];
    if (!places.contain(symbol) || symbol->dtype() != DataType::I64) continue;
    const bool is_of_buffer = buffers.are_of_whole_tensors || buffers.sizes.contains(symbol);
    if (is_of_buffer || (has_constants && (!kept.contains(symbol) || places.inner.contains(symbol))))
      roles_[i] = Role::Constant;
    else if (places.only.contains(symbol) || places.inner.contains(symbol))
      roles_[i] = opened_;
  }
}

ExtentChoice ShapeChooser::extentOf(Role role, const std::optional<ScalarValue>& value) {
  if (role == Role::Any || !value) return {};
  const int64_t size = asInt(*value);
  if (role == Role::Constant) return {ExtentChoice::Form::Constant, size};
  constexpr int64_t kWidest = 16;
  const int64_t divisor = std::gcd(size, kWidest);
  if (divisor <= 1 || size == 0) return {};
  return {ExtentChoice::Form::Multiple, divisor};
}

// The axes in the order of their strides, and which are dense. Axes without a stride of their own stay where they are.
// Where there are no elements no stride matters.
LayoutChoice ShapeChooser::layoutOf(size_t tensor, const OperandDesc& operand) const {
  const Axes shape = shapeOf(*tensors_[tensor]);
  LayoutChoice layout;
  const bool is_output = tensor >= input_count_;
  const auto isStored = [&](size_t i) { return is_output && shape[i]->isBroadcast() && operand.sizes[i] > 1; };
  const auto isBroadcast = [&](size_t i) { return shape[i]->isBroadcast() && !isStored(i); };
  bool moves = false;
  for (size_t i = 0; i < shape.size(); ++i) {
    moves = moves || isBroadcast(i) || operand.sizes[i] <= 1;
    if (!isStored(i)) continue;
    layout.is_stored.resize(shape.size());
    layout.is_stored[i] = true;
  }
  std::vector<size_t> order(shape.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::greater{},
                           [&](size_t i) { return isBroadcast(i) || operand.sizes[i] == 1 ? 0 : operand.strides[i]; });
  if (moves) std::ranges::sort(order);
  layout.is_dense.resize(shape.size());
  if (isEmpty(operand)) {
    layout.is_dense.assign(shape.size(), true);
    return layout;
  }
  int64_t dense = 1;
  for (size_t k = order.size(); k-- > 0;) {
    const size_t i = order[k];
    if (isBroadcast(i)) continue;
    layout.is_dense[i] = operand.strides[i] == dense || operand.sizes[i] <= 1;
    dense = (operand.sizes[i] <= 1 ? dense : operand.strides[i]) * std::max<int64_t>(1, operand.sizes[i]);
  }
  if (!std::ranges::is_sorted(order)) layout.order = std::move(order);
  return layout;
}

KernelShape ShapeChooser::choose(std::span<const OperandDesc> operands,
                                 std::span<const std::optional<ScalarValue>> values,
                                 const std::vector<bool>& is_open) const {
  TK_CHECK(tensors_.size() == operands.size(), "a segment of {} tensors is given {}", tensors_.size(), operands.size());
  constexpr int64_t kWidestAccess = 16;
  KernelShape shape;
  shape.alignment = kWidestAccess;
  for (const OperandDesc& operand : operands) {
    if (!isEmpty(operand)) shape.alignment = std::min(shape.alignment, operand.alignment);
  }
  shape.alignment = std::max<int64_t>(1, shape.alignment);
  shape.extents.reserve(symbols_.size());
  for (size_t i = 0; i < symbols_.size(); ++i) {
    const bool is_opened = roles_[i] == Role::Constant && !is_open.empty() && is_open[i];
    shape.extents.push_back(extentOf(is_opened ? opened_ : roles_[i], values[i]));
  }
  shape.layouts.reserve(operands.size());
  for (size_t i = 0; i < operands.size(); ++i) shape.layouts.push_back(layoutOf(i, operands[i]));
  return shape;
}

std::string ShapeChooser::nameOfTensor(size_t tensor) const {
  const TensorView& it = *tensors_[tensor];
  if (!it.name().empty() || it.label() >= 0) return nameOf(it);
  return tensor < input_count_ ? fmt::format("input {}", tensor) : fmt::format("output {}", tensor - input_count_);
}

std::string ShapeChooser::describe(const KernelChoice& choice) const {
  std::vector<std::string> parts;
  for (size_t i = 0; i < symbols_.size(); ++i) {
    if (choice.shape.extents[i].form != ExtentChoice::Form::Any)
      parts.push_back(describeExtent(symbols_[i]->name(), choice.shape.extents[i]));
  }
  for (size_t t = 0; t < tensors_.size(); ++t) {
    const LayoutChoice& layout = choice.shape.layouts[t];
    const Axes shape = shapeOf(*tensors_[t]);
    std::vector<size_t> loose;
    for (size_t i = 0; i < layout.is_dense.size(); ++i) {
      const bool is_broadcast = shape[i]->isBroadcast() && (layout.is_stored.empty() || !layout.is_stored[i]);
      if (!is_broadcast && !layout.is_dense[i]) loose.push_back(i);
    }
    std::string text = nameOfTensor(t);
    if (!layout.order.empty()) text += " in the order " + orderText(layout);
    text += loose.empty() ? " dense" : fmt::format(" not dense along {}", joined(loose));
    if (!layout.is_stored.empty()) text += " in full";
    parts.push_back(std::move(text));
  }
  parts.push_back(fmt::format("alignment {}", choice.shape.alignment));
  if (choice.parameters) parts.push_back(toString(*choice.parameters));
  if (choice.index_type == DataType::I32) parts.emplace_back("32-bit indices");
  return joined(parts);
}

std::vector<std::string> ShapeChooser::differences(const KernelChoice& known, const KernelChoice& asked) const {
  std::vector<std::string> sentences;
  for (size_t i = 0; i < symbols_.size(); ++i) {
    if (known.shape.extents[i] != asked.shape.extents[i])
      sentences.push_back(extentDifference(symbols_[i]->name(), known.shape.extents[i], asked.shape.extents[i]));
  }
  for (size_t t = 0; t < tensors_.size(); ++t) {
    const std::string name = nameOfTensor(t);
    const LayoutChoice& before = known.shape.layouts[t];
    const LayoutChoice& now = asked.shape.layouts[t];
    if (before.order != now.order)
      sentences.push_back(
          fmt::format("the axes of {} lie in the order {} instead of {}", name, orderText(now), orderText(before)));
    for (size_t i = 0; i < now.is_dense.size(); ++i) {
      if (before.is_dense[i] != now.is_dense[i])
        sentences.push_back(fmt::format("{} is {}dense along axis {}", name, now.is_dense[i] ? "" : "not ", i));
    }
    if (before.is_stored != now.is_stored)
      sentences.push_back(fmt::format("the memory of {} has {}element of its expanded axes", name,
                                      now.is_stored.empty() ? "one " : "every "));
  }
  if (known.shape.alignment != asked.shape.alignment)
    sentences.push_back(fmt::format("alignment {} instead of {}", asked.shape.alignment, known.shape.alignment));
  if (known.parameters != asked.parameters && known.parameters && asked.parameters)
    sentences.push_back(
        fmt::format("schedule ({}) instead of ({})", toString(*asked.parameters), toString(*known.parameters)));
  if (known.index_type != asked.index_type)
    sentences.push_back(asked.index_type == DataType::I64 ? "64-bit indices instead of 32-bit ones"
                                                          : "32-bit indices instead of 64-bit ones");
  return sentences;
}

}  // namespace tokamak
