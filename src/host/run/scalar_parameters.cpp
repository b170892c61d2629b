#include "host/run/scalar_parameters.h"

#include <algorithm>

#include "base/require.h"
#include "compute/rules.h"
#include "device/device.h"
#include "device/work.h"
#include "host/ir/extent_demands.h"
#include "ir/fields.h"
#include "ir/ops/host/post_on_stream.h"

namespace tokamak {

ScalarParameters::ScalarParameters(const HostIrContainer& program, SegmentMode segments) : segments_(segments) {
  takeInputs(program);
  if (inputs_.empty()) return;
  surveyTensors(program);
  for (const ExtentDemand& demand : program.demands()) {
    for (const Scalar* scalar : {demand.first, demand.second, demand.unless_zero}) {
      if (scalar != nullptr) steer(*scalar);
    }
  }
  forEachStatement(program.topLevel(), [&](const Expr& expr) { surveyStatement(expr); });
  settle();
}

ScalarParameters::ScalarParameters(const Fusion& segment) {
  takeInputs(segment);
  if (inputs_.empty()) return;
  surveyTensors(segment);
  for (const Expr* expr : segment.allExprs()) surveyStatement(*expr);
  settle();
}

void ScalarParameters::takeInputs(const Fusion& program) {
  for (Val* input : program.inputs()) {
    const Scalar* scalar = asScalar(input);
    if (scalar != nullptr && scalar->isSymbol()) inputs_.insert(scalar);
  }
}

void ScalarParameters::settle() {
  // A value that takes more than parameters is computed when the work is prepared.
  for (size_t left = inputs_.size() + 1; inputs_.size() < left;) {
    left = inputs_.size();
    for (const auto& [expr, values] : values_) {
      for (const Scalar* value : values) {
        if (!isOfInputs(*value)) steer(*value);
      }
    }
  }
  for (auto& [expr, values] : values_) {
    std::erase_if(values, [&](const Scalar* value) { return value->isConstant() || !isOfInputs(*value); });
  }
}

std::span<const Scalar* const> ScalarParameters::of(const Expr& expr) const {
  const auto found = values_.find(&expr);
  return found == values_.end() ? std::span<const Scalar* const>() : found->second;
}

std::span<void* const> ParameterValues::bitsOf(std::span<const Scalar* const> parameters) {
  bits_.clear();
  for (const Scalar* parameter : parameters) {
    const auto value = evaluate(*parameter, values_);
    TK_CHECK(value.has_value(), "the value of {} is not known", toString(*parameter));
    bits_.push_back(parameterBits(*parameter, *value));
  }
  return bits_;
}

void ScalarParameters::steer(const Scalar& scalar) {
  inputs_.erase(&scalar);
  for (const Scalar* operand : scalar.operands()) steer(*operand);
}

bool ScalarParameters::isOfInputs(const Scalar& scalar) const {
  if (scalar.isConstant() || inputs_.contains(&scalar)) return true;
  return !scalar.isSymbol() &&
         std::ranges::all_of(scalar.operands(), [&](const Scalar* operand) { return isOfInputs(*operand); });
}

void ScalarParameters::surveyTensors(const Fusion& program) {
  for (const TensorView* tensor : program.allTensors()) {
    for (const Axes* axes :
         {&tensor->domain().logical, &tensor->domain().loop, &tensor->domain().root, &tensor->domain().allocation}) {
      for (const IterDomain* axis : *axes) {
        steer(*axis->extent());
        if (axis->expandedExtent() != nullptr) steer(*axis->expandedExtent());
      }
    }
  }
}

void ScalarParameters::surveyStatement(const Expr& expr) {
  const bool has_rule = expr.list() == OpList::Math && !expr.info().is_library;
  if (has_rule) surveyRule(expr);
  if (const auto* post = expr.as<PostOnStream>(); post != nullptr && segments_ == SegmentMode::Kernels)
    return surveySegment(expr, *post);
  const auto found = values_.find(&expr);
  for (Val* val : valsOf(expr)) {
    if (val->kind() == ValKind::Stream) {
      const Scalar* index = static_cast<const StreamVal*>(val)->index();
      if (index != nullptr) steer(*index);
    }
    const Scalar* scalar = asScalar(val);
    const bool is_value =
        scalar != nullptr && has_rule && std::ranges::find(found->second, scalar) != found->second.end();
    if (scalar != nullptr && !is_value) steer(*scalar);
  }
}

// What a kernel does with a scalar, its ops do.
void ScalarParameters::surveySegment(const Expr& expr, const PostOnStream& post) {
  const Fusion& segment = *post.segment->fusion;
  const ScalarParameters inner(segment);
  std::vector<const Scalar*>& values = values_[&expr];
  for (size_t i = 0; i < post.ins.size(); ++i) {
    const Scalar* given = asScalar(post.ins[i]);
    if (given == nullptr) continue;
    const Scalar* symbol = asScalar(segment.inputs()[i]);
    if (symbol == nullptr || !inner.contains(symbol) || parameterType(*symbol) != parameterType(*given))
      steer(*given);
    else if (std::ranges::find(values, given) == values.end())
      values.push_back(given);
  }
}

// What an op does with a scalar stands in its element rule.
void ScalarParameters::surveyRule(const Expr& expr) {
  const ElementRule rule = ruleOf(expr);
  std::vector<const Scalar*> coordinates(rule.coordinates.begin(), rule.coordinates.end());
  for (const Scalar* extent : rule.extents) steer(*extent);
  for (const auto& [a, b] : rule.equal_extents) {
    steer(*a);
    steer(*b);
  }
  std::vector<const Scalar*>& values = values_[&expr];
  visitElements(*rule.value, [&](const Element& element) {
    for (const Scalar* index : element.index) steer(*index);
    for (const ReducedAxis& axis : element.axes) {
      coordinates.push_back(axis.coordinate);
      steer(*axis.extent);
    }
    if (element.kind == ElementKind::Choose) steer(*element.scalar);
    if (element.kind != ElementKind::Value) return;
    const bool is_position = std::ranges::any_of(
        coordinates, [&](const Scalar* coordinate) { return mentions(*element.scalar, *coordinate); });
    if (is_position)
      steer(*element.scalar);
    else if (std::ranges::find(values, element.scalar) == values.end())
      values.push_back(element.scalar);
  });
}

}  // namespace tokamak
