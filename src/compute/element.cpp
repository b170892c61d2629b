#include "compute/element.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/require.h"
#include "base/text.h"

namespace tokamak {

namespace {

std::shared_ptr<Element> makeElement(ElementKind kind, DataType dtype) {
  auto element = std::make_shared<Element>();
  element->kind = kind;
  element->dtype = dtype;
  return element;
}

}  // namespace

ElementBuilder::ElementBuilder(TensorView& result) : fusion_(&result.fusion()) {
  rule_.result = &result;
  for (const IterDomain* axis : withoutReductions(computedAxes(result))) {
    rule_.coordinates.push_back(fusion_->coordinate(next_coordinate_++));
    rule_.extents.push_back(axis->visibleExtent());
  }
}

Scalar* ElementBuilder::both(Scalar* a, Scalar* b) const {
  if (a == nullptr || b == nullptr) return a == nullptr ? b : a;
  return fusion_->scalar(ScalarOp::And, a, b);
}

ElementRef ElementBuilder::load(const TensorView* tensor, std::vector<Scalar*> index) const {
  const Axes shape = shapeOf(*tensor);
  TK_CHECK(shape.size() == index.size(), "{} is loaded with {} indexes", toString(*tensor), index.size());
  for (size_t i = 0; i < index.size(); ++i) {
    if (shape[i]->isBroadcast()) index[i] = constant(0);
  }
  auto element = makeElement(ElementKind::Load, tensor->dtype());
  element->tensor = tensor;
  element->index = std::move(index);
  return element;
}

ElementRef ElementBuilder::value(Scalar* scalar, DataType dtype) const {
  auto element = makeElement(ElementKind::Value, dtype);
  element->scalar = scalar;
  return element;
}

ElementRef ElementBuilder::apply(FunctionId function, std::vector<ElementRef> operands) const {
  const auto types = functionTypes(function, operands.back()->dtype);
  TK_CHECK(types.has_value(), "{} is not defined on {}", functionInfo(function).name,
           dataTypeName(operands.back()->dtype));
  const bool chooses = functionInfo(function).rule == TypeRule::Choose;
  for (size_t i = 0; i < operands.size(); ++i) {
    operands[i] = cast(chooses && i == 0 ? DataType::Bool : types->operand, std::move(operands[i]));
  }
  auto element = makeElement(ElementKind::Apply, types->result);
  element->function = function;
  element->operands = std::move(operands);
  return element;
}

ElementRef ElementBuilder::cast(DataType dtype, ElementRef operand) const {
  if (operand->dtype == dtype) return operand;
  auto element = makeElement(ElementKind::Cast, dtype);
  element->operands = {std::move(operand)};
  return element;
}

ElementRef ElementBuilder::choose(Scalar* predicate, ElementRef a, ElementRef b) const {
  TK_CHECK(a->dtype == b->dtype, "a choice between {} and {}", dataTypeName(a->dtype), dataTypeName(b->dtype));
  if (predicate == nullptr) return a;
  auto element = makeElement(ElementKind::Choose, a->dtype);
  element->scalar = predicate;
  element->operands = {std::move(a), std::move(b)};
  return element;
}

ReducedAxis ElementBuilder::reduced(Scalar* extent) { return {fusion_->coordinate(next_coordinate_++), extent}; }

ElementRef ElementBuilder::reduce(ReductionKind kind, std::vector<ReducedAxis> axes, ElementRef body,
                                  DataType accumulate) const {
  auto element = makeElement(ElementKind::Reduce, accumulate);
  element->reduction = kind;
  element->axes = std::move(axes);
  element->operands = {cast(accumulate, std::move(body))};
  return element;
}

ElementRef ElementBuilder::indexed(ElementRef position, Scalar* extent,
                                   const std::function<ElementRef(Scalar* index)>& body) {
  Scalar* last = fusion_->sub(extent, constant(1));
  ElementRef below = apply(FunctionId::minimum, {cast(DataType::I64, std::move(position)), value(last, DataType::I64)});
  auto element = makeElement(ElementKind::Indexed, {});
  element->scalar = fusion_->coordinate(next_coordinate_++);
  element->extent = extent;
  ElementRef inside = body(element->scalar);
  element->dtype = inside->dtype;
  element->operands = {apply(FunctionId::maximum, {below, value(constant(0), DataType::I64)}), inside};
  const auto size = extent->constantInt();
  if (size && *size > 0) return element;
  return choose(less(constant(0), extent), element, value(constant(0), element->dtype));
}

void ElementBuilder::requireEqual(Scalar* a, Scalar* b) {
  if (a != b) rule_.equal_extents.emplace_back(a, b);
}

void ElementBuilder::requireShapeOfResult(const TensorView& tensor) {
  const Axes shape = shapeOf(tensor);
  for (size_t i = 0; i < shape.size(); ++i) {
    if (!shape[i]->isBroadcast()) requireEqual(shape[i]->extent(), extent(i));
  }
}

void ElementBuilder::result(ElementRef value) { rule_.value = cast(rule_.result->dtype(), std::move(value)); }

ElementRule ElementBuilder::finish() && {
  TK_CHECK(rule_.value != nullptr, "the rule of {} gives no value", toString(*rule_.result));
  return std::move(rule_);
}

bool mentions(const Scalar& scalar, const Scalar& symbol) {
  if (&scalar == &symbol) return true;
  return std::ranges::any_of(scalar.operands(), [&](const Scalar* operand) { return mentions(*operand, symbol); });
}

std::string toString(const Element& element) {
  std::vector<std::string> parts;
  for (const ElementRef& operand : element.operands) parts.push_back(toString(*operand));
  switch (element.kind) {
    case ElementKind::Load:
      for (const Scalar* index : element.index) parts.push_back(toString(*index));
      return fmt::format("{}[{}]", nameOf(*element.tensor), joined(parts));
    case ElementKind::Value: return fmt::format("{}({})", dataTypeName(element.dtype), toString(*element.scalar));
    case ElementKind::Apply: return fmt::format("{}({})", functionInfo(element.function).name, joined(parts));
    case ElementKind::Cast: return fmt::format("{}({})", dataTypeName(element.dtype), parts[0]);
    case ElementKind::Choose: return fmt::format("({} ? {} : {})", toString(*element.scalar), parts[0], parts[1]);
    case ElementKind::Indexed: return fmt::format("({} = {}: {})", toString(*element.scalar), parts[0], parts[1]);
    case ElementKind::Reduce: break;
  }
  std::vector<std::string> axes;
  for (const ReducedAxis& axis : element.axes) {
    axes.push_back(fmt::format("{} < {}", toString(*axis.coordinate), toString(*axis.extent)));
  }
  return fmt::format("{}({}: {})", enumName(element.reduction), joined(axes), parts[0]);
}

}  // namespace tokamak
