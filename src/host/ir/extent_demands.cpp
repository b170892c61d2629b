#include "host/ir/extent_demands.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "base/require.h"
#include "base/text.h"
#include "compute/rules.h"
#include "host/ir/host_ir_container.h"
#include "ir/clone.h"
#include "ir/ops/host/post_on_stream.h"
#include "ir/ops/math/reshape_op.h"

namespace tokamak {

namespace {

// Gives a scalar of the program for one of an op; null where the program does not know it.
using ToProgram = std::function<Scalar*(Scalar*)>;

// A reshape of no elements to no elements may pair axes of any sizes: zero where neither tensor has any.
Scalar* elementsOf(HostIrContainer& program, const Expr& reshape, const ToProgram& to_program) {
  Scalar* sum = program.constant(0);
  for (Val* tensor : {reshape.input(0), reshape.output(0)}) {
    Scalar* count = program.constant(1);
    for (const IterDomain* axis : shapeOf(*asTensor(tensor))) {
      Scalar* known = to_program(axis->visibleExtent());
      if (known == nullptr) return nullptr;
      count = program.mul(count, known);
    }
    sum = program.add(sum, count);
  }
  return sum->constantInt().value_or(0) == 0 ? sum : nullptr;
}

// Of two operands of a library's op one may have a single batch or bias, whatever the text calls its extent. A loop
// over the other's finds no slices of that.
bool mayBeOne(const Expr& expr, const ElementRule& rule, const Scalar* operand, const Scalar* result) {
  return expr.info().is_library && std::ranges::find(rule.extents, operand) == rule.extents.end() &&
         std::ranges::find(rule.extents, result) != rule.extents.end();
}

void addDemands(HostIrContainer& program, const Expr& expr, std::span<const Scalar* const> along,
                const ToProgram& to_program, std::vector<ExtentDemand>& demands) {
  const ElementRule rule = ruleOf(expr);
  for (const auto& [a, b] : rule.equal_extents) {
    ExtentDemand demand{.op = std::string(callName(expr)), .first = to_program(a), .second = to_program(b)};
    if (demand.first == nullptr || demand.second == nullptr || demand.first == demand.second) continue;
    if (expr.is<ReshapeOp>())
      demand.unless_zero = elementsOf(program, expr, to_program);
    else if (mayBeOne(expr, rule, a, b) && std::ranges::find(along, demand.second) == along.end())
      demand.unless_zero = program.sub(demand.first, program.constant(1));
    demands.push_back(std::move(demand));
  }
}

// The scalars of a segment, as what it is posted with tells them.
class SegmentScalars {
 public:
  SegmentScalars(HostIrContainer& program, const PostOnStream& post) : cloner_(program) {
    const Fusion& segment = *post.segment->fusion;
    for (size_t i = 0; i < std::min(post.ins.size(), segment.inputs().size()); ++i) {
      Val* inner = segment.inputs()[i];
      if (asScalar(inner) != nullptr)
        set(asScalar(inner), asScalar(post.ins[i]));
      else
        setExtents(asTensor(inner), asTensor(post.ins[i]));
    }
    for (size_t i = 0; i < std::min(post.outs.size(), segment.outputs().size()); ++i)
      setExtents(segment.outputs()[i], post.outs[i]);
  }

  Scalar* inProgram(Scalar* scalar) { return isKnown(*scalar) ? cloner_.clone(scalar) : nullptr; }

 private:
  void set(Scalar* inner, Scalar* outer) {
    if (outer != nullptr && inner->isSymbol() && !cloner_.contains(inner)) cloner_.substitute(inner, outer);
  }
  void setExtents(const TensorView* inner, const TensorView* outer) {
    if (inner == nullptr || outer == nullptr) return;
    const Axes inner_axes = shapeOf(*inner);
    const Axes outer_axes = shapeOf(*outer);
    for (size_t i = 0; i < std::min(inner_axes.size(), outer_axes.size()); ++i)
      set(inner_axes[i]->visibleExtent(), outer_axes[i]->visibleExtent());
  }
  bool isKnown(Scalar& scalar) {
    if (scalar.isConstant() || cloner_.contains(&scalar)) return true;
    return !scalar.isSymbol() &&
           std::ranges::all_of(scalar.operands(), [&](Scalar* operand) { return isKnown(*operand); });
  }

  Cloner cloner_;
};

// "n: axis 0 of T0"
std::vector<std::string> placesOf(const HostIrContainer& program, const Scalar& extent) {
  std::vector<std::string> places;
  for (const TensorView* input : tensorsOf(program.inputs())) {
    const Axes axes = shapeOf(*input);
    const auto found = std::ranges::find(axes, &extent, &IterDomain::visibleExtent);
    if (extent.isConstant() || found == axes.end()) continue;
    places.push_back(fmt::format("{}: axis {} of {}", toString(extent), found - axes.begin(), nameOf(*input)));
    break;
  }
  return places;
}

void requireDemand(const HostIrContainer& program, const ExtentDemand& demand, const ScalarBindings& bindings) {
  const auto first = evaluate(*demand.first, bindings);
  const auto second = evaluate(*demand.second, bindings);
  if (!first || !second || asInt(*first) == asInt(*second)) return;
  if (demand.unless_zero != nullptr) {
    const auto count = evaluate(*demand.unless_zero, bindings);
    if (count && asInt(*count) == 0) return;
  }
  std::vector<std::string> places = placesOf(program, *demand.first);
  std::ranges::move(placesOf(program, *demand.second), std::back_inserter(places));
  TK_RAISE(Bind, "{}: {} is {} and {} is {}; they must be equal{}", demand.op, toString(*demand.first), asInt(*first),
           toString(*demand.second), asInt(*second), places.empty() ? "" : fmt::format(" ({})", joined(places)));
}

}  // namespace

std::vector<ExtentDemand> demandsOf(HostIrContainer& program, const Expr& statement,
                                    std::span<const Scalar* const> along) {
  std::vector<ExtentDemand> demands;
  if (const auto* post = statement.as<PostOnStream>()) {
    SegmentScalars scalars(program, *post);
    for (const Expr* expr : post->segment->fusion->exprs())
      addDemands(program, *expr, along, [&](Scalar* scalar) { return scalars.inProgram(scalar); }, demands);
  } else if (statement.list() == OpList::Math) {
    addDemands(program, statement, along, [](Scalar* scalar) { return scalar; }, demands);
  }
  return demands;
}

void requireDemands(const HostIrContainer& program, const ScalarBindings& bindings) {
  for (const ExtentDemand& demand : program.demands()) requireDemand(program, demand, bindings);
}

}  // namespace tokamak
