#include "runtime/cpu/element_program.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "base/require.h"
#include "compute/rules.h"
#include "device/work.h"
#include "ir/fields.h"
#include "ir/ops/math/reshape_op.h"
#include "runtime/cpu/element_layout.h"

namespace tokamak {

namespace {

class Binder {
 public:
  Binder(const Expr& expr, std::span<const OperandDesc> operands, const ScalarBindings& bindings,
         std::span<const int64_t> offsets, std::span<const Scalar* const> parameters);
  ElementProgram bind();

 private:
  size_t operandOf(const TensorView& tensor) const;
  void requireFittingOperands() const;
  void requireEqualExtents() const;
  void addDimensions(std::span<const int64_t> offsets);
  int64_t reducedExtent(const ReducedAxis& axis) const;
  size_t addStep(const Element& element, bool has_choice_above, bool is_in_parts);
  size_t addLoad(const Element& load, bool is_certain, bool is_in_parts);
  std::optional<int32_t> positionOf(const Scalar& index) const;
  int32_t addPosition(const Element& indexed);
  void addValue(const Element& value, ElementStep& step);
  size_t addParameter(size_t number);
  void fillConstant(const Element& value, ElementStep& step) const;
  void assignBuffers(ElementProgram& program) const;

  const Expr& expr_;
  const ElementRule rule_;
  std::span<const OperandDesc> operands_;
  const ScalarBindings& bindings_;
  std::span<const Scalar* const> parameters_;
  std::vector<TensorView*> tensors_;
  IndexSpace space_;
  std::vector<ReducedAxis> reduced_;
  std::vector<const Element*> indexed_;  // by the number of their position
  ElementProgram program_;
};

Binder::Binder(const Expr& expr, std::span<const OperandDesc> operands, const ScalarBindings& bindings,
               std::span<const int64_t> offsets, std::span<const Scalar* const> parameters)
    : expr_(expr),
      rule_(ruleOf(expr)),
      operands_(operands),
      bindings_(bindings),
      parameters_(parameters),
      tensors_(tensorsOf(expr.inputs())),
      program_{.dimensions = {}, .steps = {}, .accesses = {}, .result = {}, .lines = IndexLines({}, {}, bindings)} {
  tensors_.push_back(rule_.result);
  requireFittingOperands();
  addDimensions(offsets);
}

size_t Binder::operandOf(const TensorView& tensor) const {
  const auto found = std::ranges::find(tensors_, &tensor);
  TK_CHECK(found != tensors_.end(), "{}: its rule reads {}, which is no operand", callName(expr_), nameOf(tensor));
  return static_cast<size_t>(found - tensors_.begin());
}

void Binder::requireFittingOperands() const {
  TK_REQUIRE(operands_.size() == tensors_.size(), Bind,
             "{}: {} operands are described; its tensors are {} operands and 1 result", callName(expr_),
             operands_.size(), tensors_.size() - 1);
  for (size_t i = 0; i < tensors_.size(); ++i) {
    const OperandDesc& desc = operands_[i];
    TK_REQUIRE(desc.dtype == tensors_[i]->dtype() && desc.sizes.size() == shapeOf(*tensors_[i]).size() &&
                   desc.strides.size() == desc.sizes.size(),
               Bind, "{}: operand {} of type {} with {} sizes and {} strides does not fit {}", callName(expr_), i,
               dataTypeName(desc.dtype), desc.sizes.size(), desc.strides.size(), toString(*tensors_[i]));
  }
}

void Binder::requireEqualExtents() const {
  // A reshape of no elements to no elements may pair axes of any sizes.
  const auto isEmpty = [](const OperandDesc& operand) { return std::ranges::count(operand.sizes, 0) > 0; };
  if (expr_.is<ReshapeOp>() && std::ranges::all_of(operands_, isEmpty)) return;
  for (const auto& [a, b] : rule_.equal_extents) {
    const auto first = evaluate(*a, bindings_);
    const auto second = evaluate(*b, bindings_);
    TK_REQUIRE(!first || !second || asInt(*first) == asInt(*second), Bind,
               "{}: {} is {} and {} is {}; they must be equal", callName(expr_), toString(*a), asInt(*first),
               toString(*b), asInt(*second));
  }
}

void Binder::addDimensions(std::span<const int64_t> offsets) {
  space_.coordinates = rule_.coordinates;
  space_.extents = operands_.back().sizes;
  space_.offsets.assign(offsets.begin(), offsets.end());
  space_.offsets.resize(space_.extents.size(), 0);
  space_.bindings = &bindings_;
  visitElements(*rule_.value, [&](const Element& element) {
    for (const ReducedAxis& axis : element.axes) {
      reduced_.push_back(axis);
      space_.coordinates.push_back(axis.coordinate);
      space_.extents.push_back(reducedExtent(axis));
      space_.offsets.push_back(0);
    }
  });
  program_.result_dimensions = rule_.coordinates.size();
  for (size_t i = 0; i < space_.extents.size(); ++i) {
    program_.dimensions.push_back({space_.extents[i], i >= program_.result_dimensions});
  }
  program_.is_empty = std::ranges::count(operands_.back().sizes, 0) > 0;
  program_.lines = IndexLines(space_.coordinates, space_.offsets, bindings_);
}

// Known from the bindings, else from the size of an operand that is indexed by it.
int64_t Binder::reducedExtent(const ReducedAxis& axis) const {
  if (const auto extent = evaluate(*axis.extent, bindings_)) return asInt(*extent);
  std::optional<int64_t> extent;
  visitElements(*rule_.value, [&](const Element& element) {
    for (size_t i = 0; i < element.index.size(); ++i) {
      if (element.index[i] == axis.coordinate) extent = operands_[operandOf(*element.tensor)].sizes[i];
    }
  });
  return extent ? *extent : evaluateInt(*axis.extent, bindings_);
}

std::optional<int32_t> Binder::positionOf(const Scalar& index) const {
  const auto found = std::ranges::find(indexed_, &index, &Element::scalar);
  return found == indexed_.end() ? std::nullopt : std::optional(static_cast<int32_t>(found - indexed_.begin()));
}

int32_t Binder::addPosition(const Element& indexed) {
  TK_CHECK(indexed_.size() < kMaxDimensions, "{}: an element has too many positions that are read", callName(expr_));
  indexed_.push_back(&indexed);
  return program_.positions++;
}

// `is_certain`: the load is done for every coordinate, so that an index out of bounds is an error.
size_t Binder::addLoad(const Element& load, bool is_certain, bool is_in_parts) {
  OperandAccess access;
  access.is_in_parts = is_in_parts;
  access.operand = operandOf(*load.tensor);
  const OperandDesc& desc = operands_[access.operand];
  access.size = sizeOf(desc.dtype);
  LinearIndex address;
  address.strides.assign(space_.coordinates.size(), 0);
  const bool has_elements = std::ranges::count(space_.extents, 0) == 0;
  for (size_t i = 0; i < load.index.size(); ++i) {
    if (const auto position = positionOf(*load.index[i])) {
      const int64_t extent = evaluateInt(*indexed_[static_cast<size_t>(*position)]->extent, bindings_);
      TK_REQUIRE(extent <= desc.sizes[i], Bind, "{}: axis {} of {} has size {}, indices go up to {}", callName(expr_),
                 i, toString(*load.tensor), desc.sizes[i], extent - 1);
      access.gathers.emplace_back(desc.strides[i], *position);
      continue;
    }
    LinearIndex index = space_.linear(*load.index[i]);
    // A coordinate as it stands goes along with the operand: a part of the result meets the same part of the operand.
    const auto exact = std::ranges::find(space_.coordinates, load.index[i]);
    if (exact != space_.coordinates.end()) index.constant = 0;
    const auto range = space_.range(index);
    TK_REQUIRE(!is_certain || !has_elements || !range || (range->first >= 0 && range->second < desc.sizes[i]), Bind,
               "{}: axis {} of {} has size {}, but elements {} to {} of it are read", callName(expr_), i,
               toString(*load.tensor), desc.sizes[i], range->first, range->second);
    address.add(index, desc.strides[i]);
  }
  space_.joinDivAndMod(address);
  access.constant = address.constant;
  access.strides = address.strides;
  for (const auto& [factor, atom] : address.atoms) access.atoms.emplace_back(factor, program_.lines.add(*atom));
  program_.accesses.push_back(std::move(access));
  return program_.accesses.size() - 1;
}

void Binder::fillConstant(const Element& value, ElementStep& step) const {
  const auto number = evaluate(*value.scalar, bindings_);
  if (!number) static_cast<void>(evaluateInt(*value.scalar, bindings_));  // raises, and names the symbol
  step.constant.resize(static_cast<size_t>(kChunk * sizeOf(value.dtype)));
  fillWith(*number, value.dtype, step.constant.data(), kChunk);
}

size_t Binder::addParameter(size_t number) {
  OperandAccess access;
  access.operand = tensors_.size() + number;
  access.is_parameter = true;
  access.size = sizeOf(parameterType(*parameters_[number]));
  access.strides.assign(space_.coordinates.size(), 0);
  program_.accesses.push_back(std::move(access));
  return program_.accesses.size() - 1;
}

// A number that is known now, a count along the coordinates, or one that comes with the launch.
void Binder::addValue(const Element& value, ElementStep& step) {
  const auto parameter = std::ranges::find(parameters_, value.scalar);
  if (parameter != parameters_.end()) {
    ElementStep load;
    load.kind = ElementKind::Load;
    load.dtype = parameterType(**parameter);
    load.access = addParameter(static_cast<size_t>(parameter - parameters_.begin()));
    if (load.dtype == value.dtype) {
      step = std::move(load);
      return;
    }
    step.kind = ElementKind::Cast;
    step.cast = castLoop(value.dtype, load.dtype);
    program_.steps.push_back(std::move(load));
    step.operands = {program_.steps.size() - 1};
  } else if (mentionsAny(*value.scalar, space_.coordinates)) {
    step.line = program_.lines.add(*value.scalar);
  } else {
    fillConstant(value, step);
  }
}

size_t Binder::addStep(const Element& element, bool has_choice_above, bool is_in_parts) {
  ElementStep step;
  step.kind = element.kind;
  step.dtype = element.dtype;
  if (element.kind == ElementKind::Indexed) step.position = addPosition(element);
  const bool is_choice = element.kind == ElementKind::Choose;
  for (size_t i = 0; i < element.operands.size(); ++i) {
    const bool has_position = element.kind == ElementKind::Indexed && i == 1;
    step.operands.push_back(
        addStep(*element.operands[i], has_choice_above || is_choice, is_in_parts || is_choice || has_position));
  }
  switch (element.kind) {
    case ElementKind::Load: step.access = addLoad(element, !has_choice_above, is_in_parts); break;
    case ElementKind::Value: addValue(element, step); break;
    case ElementKind::Apply: {
      const auto types = functionTypes(element.function, element.operands.back()->dtype);
      step.function = functionLoop(element.function, types->operand);
      break;
    }
    case ElementKind::Cast: step.cast = castLoop(element.dtype, element.operands[0]->dtype); break;
    case ElementKind::Choose: step.line = program_.lines.add(*element.scalar); break;
    case ElementKind::Indexed: break;
    case ElementKind::Reduce: step.reduction = &reductionLoops(element.reduction, element.dtype); break;
  }
  program_.steps.push_back(std::move(step));
  return program_.steps.size() - 1;
}

// A Choose always says where its operands go, and an Indexed where its second one goes; others say so only to the last
// step.
void Binder::assignBuffers(ElementProgram& program) const {
  std::vector<bool> is_chosen(program.steps.size(), false);
  for (const ElementStep& step : program.steps) {
    for (const size_t operand : step.operands) is_chosen[operand] = step.kind == ElementKind::Choose;
    if (step.kind == ElementKind::Indexed) is_chosen[step.operands[1]] = true;
  }
  for (size_t i = 0; i < program.steps.size(); ++i) {
    ElementStep& step = program.steps[i];
    // The accumulators of a Reduce are always in its buffer and the next one, its results in the one behind these.
    const bool is_reduce = step.kind == ElementKind::Reduce;
    if (is_chosen[i] && !is_reduce) continue;
    step.buffer = program.buffers;
    program.buffers += is_reduce ? 3 : 1;
  }
}

ElementProgram Binder::bind() {
  requireEqualExtents();
  if (program_.is_empty) return std::move(program_);
  static_cast<void>(addStep(*rule_.value, false, false));
  program_.result.operand = tensors_.size() - 1;
  program_.result.size = sizeOf(rule_.result->dtype());
  program_.result.strides = operands_.back().strides;
  program_.result.strides.resize(program_.dimensions.size(), 0);
  assignBuffers(program_);
  chooseLayout(program_);
  return std::move(program_);
}

}  // namespace

ElementProgram makeElementProgram(const Expr& expr, std::span<const OperandDesc> operands,
                                  const ScalarBindings& bindings, std::span<const int64_t> coordinate_offsets,
                                  std::span<const Scalar* const> parameters) {
  return Binder(expr, operands, bindings, coordinate_offsets, parameters).bind();
}

}  // namespace tokamak
