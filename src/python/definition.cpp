#include "python/definition.h"

#include <algorithm>
#include <map>
#include <ranges>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/require.h"
#include "compile/fitting_number.h"
#include "define/callables.h"
#include "define/operand.h"
#include "define/shapes.h"
#include "graph/infer_stride_order.h"
#include "host/lower/reduced_streams.h"
#include "host/lower/stream_axis.h"
#include "ir/text/names.h"
#include "schedule/commands.h"

namespace tokamak::python {

namespace {

// From the slowest to the fastest axis.
std::vector<size_t> axesInMemory(const std::vector<int64_t>& stride_order, size_t rank) {
  std::vector<size_t> axes(rank);
  if (stride_order.empty()) {
    for (size_t i = 0; i < rank; ++i) axes[i] = i;
    return axes;
  }
  TK_REQUIRE(stride_order.size() == rank, Definition,
             "Length of stride_order argument ({}) must be that of the shape ({})", stride_order.size(), rank);
  std::vector<bool> is_taken(rank);
  for (size_t i = 0; i < rank; ++i) {
    const int64_t order = stride_order[i];
    TK_REQUIRE(order >= 0 && order < std::ssize(axes), Definition,
               "stride_order argument is out of range: {} of {} axes", order, rank);
    TK_REQUIRE(!is_taken[static_cast<size_t>(order)], Definition, "duplicated stride_order entries: {}", order);
    is_taken[static_cast<size_t>(order)] = true;
    axes[rank - 1 - static_cast<size_t>(order)] = i;
  }
  return axes;
}

using ParallelTypes = std::vector<std::pair<IterDomain*, ParallelType>>;

ParallelTypes parallelTypesOf(const Fusion& fusion) {
  ParallelTypes types;
  for (const TensorView* tensor : fusion.allTensors()) {
    for (IterDomain* axis : tensor->loop()) types.emplace_back(axis, axis->parallelType());
  }
  return types;
}

// What streams cannot deal out is refused where it is marked, and nothing is marked then. Errors: Schedule.
void requireLegalStreams(const Fusion& fusion, const ParallelTypes& before) {
  try {
    for (const TensorView* tensor : fusion.allTensors()) {
      const Expr* const made = tensor->definition();
      if (made == nullptr || !findReducedStream(*made)) findStreamAxis(*tensor);
    }
  } catch (const Error& error) {
    for (const auto& [axis, type] : before) axis->parallelize(type);
    TK_RAISE(Schedule, "parallelize: {}", error.message());
  }
}

}  // namespace

Val* Definition::own(const Value& value) const {
  TK_REQUIRE(value.definition.get() == this, Definition, "a value of another definition is no operand of this one");
  TK_REQUIRE(value.schedule == nullptr, Definition, "a tensor of a schedule is no operand of its definition");
  return value.val;
}

Value Definition::input(const InputTensor& described) {
  const size_t rank = described.sizes.size();
  Axes axes;
  for (const int64_t size : described.sizes) {
    TK_REQUIRE(size >= -1, Definition, "a size of {} is none: -1 is a symbol, 1 an axis that broadcasts", size);
    if (size == 1) {
      axes.push_back(fusion_.axis({.kind = IterKind::Broadcast}));
    } else {
      axes.push_back(fusion_.axis(
          {.extent = size == -1 ? fusion_.symbol(fmt::format("i{}", symbols_++)) : fusion_.constant(size)}));
    }
  }
  const std::vector<size_t> in_memory = axesInMemory(described.stride_order, rank);
  TensorDomain domain;
  domain.logical = axes;
  if (!described.stride_order.empty() && !std::ranges::is_sorted(in_memory)) {
    for (const size_t axis : in_memory) domain.allocation.push_back(axes[axis]);
  }
  if (!described.contiguity.empty()) {
    TK_REQUIRE(described.contiguity.size() == rank, Definition,
               "Length of contiguity argument ({}) must be that of the shape ({})", described.contiguity.size(), rank);
    for (size_t i = 0; i < rank; ++i) {
      const bool is_stored = described.sizes[in_memory[i]] != 1;
      TK_REQUIRE(is_stored || !described.contiguity[i].value_or(false), Definition,
                 "contiguity of a broadcast axis is None; entry {} is True", i);
      domain.contiguity.push_back(is_stored ? std::optional(described.contiguity[i].value_or(false)) : std::nullopt);
    }
  }
  TensorView* const made = fusion_.tensor(described.dtype, std::move(domain));
  fusion_.addInput(made);
  return handle(made);
}

Value Definition::scalarInput(DataType dtype) {
  Scalar* const made = fusion_.symbol(fmt::format("s{}", symbols_++), dtype);
  fusion_.addInput(made);
  return handle(made);
}

Value Definition::constant(const ScalarValue& value, DataType dtype) {
  TK_REQUIRE(fits(value, dtype), Definition, "define_scalar: {} is no number of type {}", asDouble(value),
             dataTypeName(dtype));
  return handle(fusion_.constant(convertValue(value, dtype), dtype));
}

std::vector<Value> Definition::call(const std::string& name, const std::vector<CallArgument>& arguments) {
  const Callable* const callable = findCallable(name);
  TK_REQUIRE(callable != nullptr, Definition, "{}: no op has this name", name);
  std::vector<Value> results;
  for (Val* result : callByName(fusion_, *callable, arguments)) results.push_back(handle(result));
  return results;
}

Value Definition::size(const TensorView& tensor, int64_t axis) {
  const Axes shape = shapeOf(tensor);
  const auto rank = std::ssize(shape);
  TK_REQUIRE(axis >= -rank && axis < rank, Definition, "size: axis {} of a tensor with {} axes", axis, rank);
  return handle(shape[static_cast<size_t>(axis < 0 ? axis + rank : axis)]->visibleExtent());
}

void Definition::output(const Value& value, const std::vector<int64_t>& stride_order) {
  own(value);
  TensorView* tensor = value.tensor();
  TK_REQUIRE(tensor != nullptr, Definition, "an output is a tensor; a scalar is none");
  // (Each output has a layout, and whether it is an update, of its own.)
  if (fusion_.isOutput(tensor) || fusion_.isInput(tensor)) tensor = set(tensor);
  if (stride_order.empty()) {
    fusion_.addOutput(tensor);
    return;
  }
  axesInMemory(stride_order, shapeOf(*tensor).size());
  fusion_.addOutput(tensor);
  setOutputStrideOrder(*tensor, stride_order);
}

Definition::Scheduled& Definition::schedule() {
  if (scheduled_ != nullptr) return *scheduled_;
  auto made = std::make_unique<Scheduled>();
  made->fusion = std::make_shared<Fusion>(fusion_.name());
  made->copies = std::make_unique<Cloner>(*made->fusion);
  cloneInto(fusion_, *made->copies);
  scheduled_ = std::move(made);
  return *scheduled_;
}

TensorView* Definition::scheduledTensor(const Value& value) {
  TK_REQUIRE(value.definition.get() == this, Definition, "a value of another definition is none of this one");
  Scheduled& scheduled = schedule();
  TK_REQUIRE(value.schedule == nullptr || value.schedule == scheduled.fusion, Definition,
             "a tensor of a schedule that was given up is none of this one");
  TensorView* const tensor = value.tensor();
  TK_REQUIRE(tensor != nullptr, Definition, "a schedule command takes tensors; this is a scalar");
  if (value.schedule != nullptr) return tensor;
  return scheduled.copies->clone(tensor);
}

std::optional<Value> Definition::command(const std::string& name, const std::vector<CallArgument>& arguments) {
  Fusion& fusion = *schedule().fusion;
  const ParallelTypes before = parallelTypesOf(fusion);
  TensorView* const made = scheduleCommands().apply(fusion, {.name = name, .arguments = arguments, .text = name});
  if (name.starts_with("parallelize")) requireLegalStreams(fusion, before);
  if (made == nullptr) return std::nullopt;
  return handle(made, scheduled_->fusion);
}

void Definition::inlineAt(const std::vector<Value>& values, int64_t position, InlineEffort effort) {
  std::vector<TensorView*> tensors;
  for (const Value& value : values) tensors.push_back(scheduledTensor(value));
  inline_at(tensors, position, effort);
}

std::string Definition::scheduledTensorText(const Value& value) {
  const TensorView& tensor = *scheduledTensor(value);
  const auto extents =
      std::views::transform(shapeOf(tensor), [](const IterDomain* axis) { return toString(*axis->visibleExtent()); });
  const auto marks = std::views::transform(tensor.loop(), [](const IterDomain* axis) { return describeLoop(*axis); });
  const int64_t position = tensor.inlinePosition();
  return fmt::format("{}: {}[{}] in loops [{}]{}", FusionNames(*scheduled_->fusion).nameOf(tensor),
                     dataTypeName(tensor.dtype()), fmt::join(extents, ", "), fmt::join(marks, ", "),
                     position == 0 ? "" : fmt::format(", computed inside {} of its readers'", position));
}

std::vector<AxisText> Definition::axes(const Value& value, const std::string& domain) {
  TK_REQUIRE(value.tensor() != nullptr, Definition, "{} domain: a scalar has none", domain);
  if (!isScheduled()) own(value);
  const TensorView& tensor = isScheduled() ? *scheduledTensor(value) : *value.tensor();
  const std::map<std::string, const Axes*> domains = {{"root", &tensor.domain().root},
                                                      {"logical", &tensor.domain().logical},
                                                      {"loop", &tensor.domain().loop},
                                                      {"allocation", &tensor.domain().allocation}};
  const auto found = domains.find(domain);
  TK_REQUIRE(found != domains.end(), Definition,
             "'{}' is no domain of a tensor; legal are root, logical, loop and allocation", domain);
  std::vector<AxisText> texts;
  for (const IterDomain* axis : *found->second)
    texts.push_back({describeLoop(*axis), toString(*axis->visibleExtent()), axis->isReduction()});
  return texts;
}

std::vector<Value> Definition::scheduledTensors() {
  std::vector<Value> values;
  for (TensorView* tensor : schedule().fusion->allTensors()) values.push_back(handle(tensor, scheduled_->fusion));
  return values;
}

Value Definition::cast(const Value& value, DataType dtype) {
  Val* const val = own(value);
  TK_REQUIRE(asTensor(val) == nullptr, Definition, "cast: a number is legal here, not a tensor");
  return handle(castTo(static_cast<Scalar*>(val), dtype));
}

void Definition::update(const Value& value, const Value& input) {
  own(value);
  own(input);
  TensorView* tensor = value.tensor();
  TensorView* const target = input.tensor();
  TK_REQUIRE(tensor != nullptr && target != nullptr, Definition, "alias_input: both are tensors; a scalar is none");
  if (fusion_.isOutput(tensor) || fusion_.isInput(tensor)) tensor = set(tensor);
  fusion_.update(target, tensor);
}

}  // namespace tokamak::python
