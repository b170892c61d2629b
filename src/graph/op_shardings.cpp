#include "graph/op_shardings.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "analysis/device_mesh.h"
#include "analysis/marked_parts.h"
#include "analysis/part_axes.h"
#include "base/require.h"
#include "compute/reduced_axes.h"
#include "ir/fields.h"
#include "ir/ops/math/linear_op.h"
#include "ir/ops/math/reduction_op.h"
#include "symbolic/scalar_simplifier.h"

namespace tokamak {

namespace {

using Form = MeshUse::Form;

std::vector<Scalar*> extentsOf(const TensorView& tensor) {
  std::vector<Scalar*> extents;
  for (const IterDomain* axis : shapeOf(tensor)) extents.push_back(simplify(axis->visibleExtent()));
  return extents;
}

class OpPlan {
 public:
  explicit OpPlan(const Expr& op)
      : op_(op), operands_(tensorsOf(op.inputs())), axes_(op), target_(shardingOf(*axes_.map().rule().result)) {
    for (const TensorView* operand : operands_) given_.emplace(operand, shardingOf(*operand));
    reduction_ = reductionIn(rule());
  }

  OpShardings make() {
    const auto* reduction = op_.as<ReductionOp>();
    is_elsewhere_ = reduction != nullptr && !(given_.at(reduction->in).mesh == target_.mesh);
    if (is_elsewhere_) target_ = ofReductionElsewhere(*reduction);
    plan_.result = wholeOn(target_.mesh);
    for (const TensorView* operand : operands_) plan_.operands.emplace(operand, plan_.result);
    for (size_t d = 0; d < target_.uses.size(); ++d) {
      if (target_.mesh.shape[d] > 1) planDimension(d);
    }
    return std::move(plan_);
  }

 private:
  struct Need {
    const TensorView* operand = nullptr;
    MarkedParts parts;
  };

  const ElementRule& rule() const { return axes_.map().rule(); }
  const TensorView& result() const { return *rule().result; }

  // A bias is added behind the sum, where that is one of terms.
  const Element* reductionIn(const ElementRule& rule) const {
    if (const Element* reduction = reductionOf(rule)) return reduction;
    const Element* element = rule.value.get();
    while (element->kind == ElementKind::Cast) element = element->operands[0].get();
    if (!op_.is<LinearOp>() || element->kind != ElementKind::Apply) return nullptr;
    element = element->operands[0].get();
    while (element->kind == ElementKind::Cast) element = element->operands[0].get();
    return element->kind == ElementKind::Reduce ? element : nullptr;
  }

  // What the operand's parts make of the result on its own mesh.
  Sharding ofReductionElsewhere(const ReductionOp& op) const {
    Sharding sharding = given_.at(op.in);
    for (MeshUse& use : sharding.uses) {
      if (use.form != Form::Chunk) {
        use = {};
      } else if (std::ranges::find(op.axes, use.parts.axis) != op.axes.end()) {
        use = {.form = Form::Partial, .reduction = op.op};
      } else {
        use.parts.axis -= std::ranges::count_if(op.axes, [&](int64_t axis) { return axis < use.parts.axis; });
      }
    }
    return sharding;
  }

  void planDimension(size_t d) {
    const MeshUse& want = target_.uses[d];
    if (want.form == Form::Partial) {
      const bool is_planned = planTerms(d);
      TK_REQUIRE(
          is_planned || is_elsewhere_, HostProgram,
          "make-reshardings: {} is {}, and {} has no operand with parts of an axis to combine over {}; mark that "
          "of an operand, or leave partial out",
          nameOf(result()), toString(Partial{want.reduction, *deviceTypeOf(target_.mesh, d)}), callName(op_),
          parallelTypeName(*deviceTypeOf(target_.mesh, d)));
      return;
    }
    if (want.form == Form::Chunk) {
      const auto needs = needsOf(want.parts, target_.mesh.shape[d]);
      const bool is_given = needs && std::ranges::any_of(*needs, [&](const Need& need) { return isGiven(d, need); });
      if (is_given && take(d, want, *needs)) return;
      if (planTerms(d)) return;
      if (needs) take(d, want, *needs);
    } else {
      planTerms(d);
    }
  }

  bool isGiven(size_t d, const Need& need) const {
    const Sharding& given = given_.at(need.operand);
    return given.mesh == target_.mesh && given.uses[d].form == Form::Chunk && given.uses[d].parts == need.parts;
  }

  // The parts of operands that go along with those of the result; nothing where the op does not go along the axis.
  std::optional<std::vector<Need>> needsOf(const MarkedParts& parts, int64_t devices) const {
    if (axes_.needsPositions(parts.axis) || !axes_.readOtherwise(parts.axis).empty()) return std::nullopt;
    std::vector<Need> needs;
    for (const PartAxisPair& pair : axes_.along(parts.axis)) {
      auto need = pair.isSameIndex() ? sameParts(*pair.operand, pair.operand_axis, parts)
                                     : partsOfReshape(pair, parts, devices);
      if (!need) return std::nullopt;
      needs.push_back(*std::move(need));
    }
    return needs;
  }

  std::optional<Need> sameParts(const TensorView& operand, int64_t axis, const MarkedParts& parts) const {
    Scalar* own = simplify(shapeOf(operand)[static_cast<size_t>(axis)]->visibleExtent());
    Scalar* extent = simplify(shapeOf(result())[static_cast<size_t>(parts.axis)]->visibleExtent());
    if (own != extent) return std::nullopt;
    return Need{&operand, {.axis = axis, .cuts = parts.cuts, .chunk = parts.chunk}};
  }

  // The parts of as many elements of the outermost axis that a reshape makes the result's axis of.
  std::optional<Need> partsOfReshape(const PartAxisPair& pair, const MarkedParts& parts, int64_t devices) const {
    const auto extent = [](const TensorView& tensor, int64_t axis) {
      return simplify(shapeOf(tensor)[static_cast<size_t>(axis)]->visibleExtent());
    };
    MarkedParts own = parts;
    own.axis = pair.operand_axis;
    Scalar* have = pair.operand_elements;
    Scalar* want = pair.result_elements;
    if (have == want && extent(*pair.operand, own.axis) == extent(result(), parts.axis)) return Need{pair.operand, own};
    Scalar* elements = simplify(result().fusion().mul(parts.chunk, want));
    auto same = partsOfElements(*pair.operand, own.axis, *have, *elements, devices);
    return same ? std::optional(Need{pair.operand, *std::move(same)}) : std::nullopt;
  }

  // Terms of the result, where an operand has parts of a reduced axis.
  bool planTerms(size_t d) {
    if (reduction_ == nullptr || !hasOwnExtents()) return false;
    const MeshUse& want = target_.uses[d];
    const bool has_terms = reductionOf(rule()) != nullptr;  // no bias is added to them
    if (want.form == Form::Partial && !(has_terms && want.reduction == reduction_->reduction)) return false;
    for (const TensorView* operand : operands_) {
      const Sharding& given = given_.at(operand);
      if (!(given.mesh == target_.mesh) || given.uses[d].form != Form::Chunk) continue;
      const MarkedParts& parts = given.uses[d].parts;
      const auto number = reducedAxis(*reduction_, *operand, parts.axis);
      const auto needs = number ? needsOfTerms(*number, *operand, parts) : std::nullopt;
      const MeshUse terms{.form = Form::Partial, .reduction = reduction_->reduction};
      if (needs && take(d, terms, *needs)) return true;
    }
    return false;
  }

  // Whether the sum before the bias, and the bias, have the axes of the result: one may come from the other.
  bool hasOwnExtents() const {
    const auto* op = op_.as<LinearOp>();
    if (op == nullptr || op->bias == nullptr || shapeOf(*op->weight).size() < 2) return true;
    Scalar* last = extentsOf(result()).back();
    const IterDomain* bias = shapeOf(*op->bias)[0];
    const bool is_single = bias->isBroadcast() && bias->expandedExtent() == nullptr;
    return !shapeOf(*op->weight)[0]->isBroadcast() && extentsOf(*op->weight)[0] == last &&
           (is_single || extentsOf(*op->bias)[0] == last);
  }

  // The same parts wherever the reduction goes along the axis.
  std::optional<std::vector<Need>> needsOfTerms(size_t number, const TensorView& of, const MarkedParts& parts) const {
    const Scalar* extent = simplify(shapeOf(of)[static_cast<size_t>(parts.axis)]->visibleExtent());
    const Scalar& coordinate = *reduction_->axes[number].coordinate;
    std::vector<Need> needs;
    bool is_alike = true;
    visitElements(*reduction_, [&](const Element& element) {
      if (element.kind != ElementKind::Load) return;
      // A broadcast axis that is reduced, expanded or of the extent 1, has no index.
      const auto isAlong = [&](const Scalar* index) { return mentions(*index, coordinate); };
      if (std::ranges::none_of(element.index, isAlong))
        is_alike = is_alike && std::ranges::none_of(shapeOf(*element.tensor), &IterDomain::isBroadcast);
      for (size_t i = 0; i < element.index.size(); ++i) {
        if (!mentions(*element.index[i], coordinate)) continue;
        const auto axis = static_cast<int64_t>(i);
        is_alike = is_alike && element.index[i] == &coordinate &&
                   reducedAxis(*reduction_, *element.tensor, axis) == number &&
                   simplify(shapeOf(*element.tensor)[i]->visibleExtent()) == extent;
        needs.push_back({element.tensor, {.axis = axis, .cuts = parts.cuts, .chunk = parts.chunk}});
      }
    });
    return is_alike ? std::optional(needs) : std::nullopt;
  }

  // False, and nothing is planned, where an axis of an operand would have parts over two dimensions, or the operand
  // parts of two axes over one.
  bool take(size_t d, const MeshUse& use, const std::vector<Need>& needs) {
    for (const Need& need : needs) {
      const Sharding& planned = plan_.operands.at(need.operand);
      for (const MeshUse& other : planned.uses)
        if (other.form == Form::Chunk && other.parts.axis == need.parts.axis) return false;
      for (const Need& other : needs)
        if (other.operand == need.operand && !(other.parts == need.parts)) return false;
    }
    plan_.result.uses[d] = use;
    for (const Need& need : needs) plan_.operands.at(need.operand).uses[d] = {.form = Form::Chunk, .parts = need.parts};
    return true;
  }

  const Expr& op_;
  std::vector<TensorView*> operands_;
  PartAxes axes_;
  Sharding target_;
  const Element* reduction_ = nullptr;
  bool is_elsewhere_ = false;  // the op is a reduction that is done on the mesh of its operand
  std::map<const TensorView*, Sharding, ById> given_;
  OpShardings plan_;
};

}  // namespace

OpShardings localShardings(const Expr& op) { return OpPlan(op).make(); }

}  // namespace tokamak
