#include "host/local/local_ops.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "analysis/device_mesh.h"
#include "analysis/part_axes.h"
#include "analysis/sharding.h"
#include "base/require.h"
#include "compute/reduced_axes.h"
#include "host/ir/restrict_op.h"
#include "ir/ops/math/full_op.h"
#include "ir/ops/math/load_store_op.h"
#include "ir/ops/math/pointwise_op.h"
#include "ir/ops/math/slice_op.h"
#include "kernel/value.h"
#include "symbolic/scalar_simplifier.h"

namespace tokamak {

namespace {

class LocalOp {
 public:
  LocalOp(const Expr& op, LocalTensors& tensors, WholeReads reads)
      : op_(op), tensors_(tensors), slices_(reads == WholeReads::SlicedBySet && op.is<LoadStoreOp>()), axes_(op) {}

  std::vector<SlicedAxis> check() {
    const size_t rank = rule().coordinates.size();
    for (size_t axis = 0; axis < rank; ++axis) checkAxis(static_cast<int64_t>(axis));
    for (const TensorView* operand : tensorsOf(op_.inputs())) checkReduced(*operand);
    checkPartials();
    tellReducedParts();
    return std::move(sliced_);
  }

 private:
  std::string where() const { return fmt::format("local program: {} of {}", callName(op_), nameOf(result())); }
  const ElementRule& rule() const { return axes_.map().rule(); }
  const TensorView& result() const { return *rule().result; }

  void checkAxis(int64_t axis) {
    const LocalPart* own = tensors_.partOf(result(), axis);
    bool is_independent = true;
    for (const PartAxisPair& pair : axes_.along(axis)) {
      if (pair.isSameIndex()) {
        along_.emplace(pair.operand, pair.operand_axis);
        checkPair(*pair.operand, pair.operand_axis, axis, own);
      } else if (own != nullptr) {
        is_independent = isReshapeOfPart(pair, *own);
      }
    }
    for (const TensorView* operand : axes_.readOtherwise(axis))
      is_independent = is_independent && (own == nullptr || isSliceOfChunks(*operand, axis, *own));
    TK_REQUIRE(is_independent, HostProgram,
               "{}: it is not independent along axis {}, of which a rank has a part; compute it whole, and take the "
               "part by a Set",
               where(), axis);
    TK_REQUIRE(own == nullptr || !axes_.needsPositions(axis), HostProgram,
               "{}: it depends on positions along axis {}, of which a rank has a part; compute it whole, and take the "
               "part by a Set",
               where(), axis);
  }

  // Whether the op merges or splits axes whose outermost one is a part, before and behind alike: of the same elements.
  bool isReshapeOfPart(const PartAxisPair& pair, const LocalPart& own) {
    const LocalPart* read = tensors_.partOf(*pair.operand, pair.operand_axis);
    const bool is_same = read != nullptr && *read->mesh == *own.mesh && read->dimension == own.dimension &&
                         elementsOf(*read, pair.operand_elements) == elementsOf(own, pair.result_elements);
    if (is_same) along_.emplace(pair.operand, pair.operand_axis);
    return is_same;
  }

  // How many elements a chunk has, in scalars of the copy.
  Scalar* elementsOf(const LocalPart& part, Scalar* elements_of_index) {
    return simplify(tensors_.target().mul(part.chunk, tensors_.scalar(elements_of_index)));
  }

  void checkPair(const TensorView& operand, int64_t operand_axis, int64_t axis, const LocalPart* own) {
    const LocalPart* read = tensors_.partOf(operand, operand_axis);
    if (isSamePart(read, own)) return;
    if (read == nullptr && slices_) {
      sliced_.push_back({.axis = axis, .range = own->range});
      return;
    }
    TK_RAISE(HostProgram,
             "{}: it reads axis {} of {}, of which a rank has {}, where it has {} of the result; a Communication, or a "
             "Set of the whole, comes before it",
             where(), operand_axis, nameOf(operand), read == nullptr ? "all" : "a part",
             own == nullptr    ? "all"
             : read == nullptr ? "a part"
                               : "another part");
  }

  // Whether the op leaves out indices at the end of an axis, and both sides are dealt out in the same chunks: each rank
  // leaves out some of its own.
  bool isSliceOfChunks(const TensorView& operand, int64_t axis, const LocalPart& own) {
    const auto* slice = op_.as<SliceOp>();
    const LocalPart* read = slice == nullptr ? nullptr : tensors_.partOf(operand, axis);
    const auto number = static_cast<size_t>(axis);
    if (read == nullptr || !slice->starts[number]->isConstantInt(0)) return false;
    const bool is_alike = slice->steps[number]->isConstantInt(1) && *read->mesh == *own.mesh &&
                          read->dimension == own.dimension && simplify(read->chunk) == simplify(own.chunk);
    if (is_alike) along_.emplace(&operand, axis);
    return is_alike;
  }

  // A reduction whose parts can be combined.
  const Element* reduction() const { return reductionOf(rule()); }

  // Parts that no axis of the result goes along are reduced, alike wherever the reduction goes along them.
  void checkReduced(const TensorView& operand) {
    const auto rank = static_cast<int64_t>(shapeOf(operand).size());
    for (int64_t axis = 0; axis < rank; ++axis) {
      const LocalPart* part = tensors_.partOf(operand, axis);
      if (part == nullptr || along_.contains({&operand, axis})) continue;
      const std::optional<size_t> number = reducedAxis(operand, axis);
      TK_REQUIRE(number.has_value(), HostProgram,
                 "{}: it reads axis {} of {} in another way than index by index, and a rank has a part of it; a "
                 "Communication comes before it",
                 where(), axis, nameOf(operand));
      requireReducedAlike(*number, *part);
      reduced_[*number] = *part;
    }
  }

  std::optional<size_t> reducedAxis(const TensorView& operand, int64_t axis) const {
    return reduction() == nullptr ? std::nullopt : tokamak::reducedAxis(*reduction(), operand, axis);
  }

  void requireReducedAlike(size_t number, const LocalPart& part) {
    const Element& reduce = *reduction();
    const Scalar& coordinate = *reduce.axes[number].coordinate;
    visitElements(reduce, [&](const Element& element) {
      if (element.kind != ElementKind::Load) return;
      const auto isAlong = [&](const Scalar* index) { return mentions(*index, coordinate); };
      const bool has_index = std::ranges::any_of(element.index, isAlong);
      for (size_t i = 0; i < element.index.size(); ++i) {
        const bool is_broadcast =
            !has_index && isBroadcastAlong(*shapeOf(*element.tensor)[i], *reduce.axes[number].extent);
        if (!is_broadcast && !mentions(*element.index[i], coordinate)) continue;
        const LocalPart* other = tensors_.partOf(*element.tensor, static_cast<int64_t>(i));
        TK_REQUIRE((is_broadcast || element.index[i] == &coordinate) && isSamePart(other, &part), HostProgram,
                   "{}: it reduces axis {} of {}, of which a rank has {}, together with a part of another operand's; "
                   "both need the same part",
                   where(), i, nameOf(*element.tensor), other == nullptr ? "all" : "another part");
      }
    });
  }

  // Whether the axis has one element along a reduced one of this extent: it has no index there.
  bool isBroadcastAlong(const IterDomain& axis, const Scalar& extent) const {
    const Scalar* shown = axis.visibleExtent();
    const auto isPair = [&](const auto& pair) {
      return (pair.first == shown && pair.second == &extent) || (pair.first == &extent && pair.second == shown);
    };
    return axis.isBroadcast() && (shown == &extent || std::ranges::any_of(rule().equal_extents, isPair));
  }

  // The result is partial over those dimensions whose parts the op reduces, and nothing else reads terms.
  void checkPartials() {
    std::vector<Partial> expected;
    for (const TensorView* operand : tensorsOf(op_.inputs())) {
      const std::vector<Partial> terms = trueTerms(*operand);
      if (terms.empty()) continue;
      const bool is_read_as_terms =
          operand->mesh() == result().mesh() && (op_.is<LoadStoreOp>() || combinesTerms(terms));
      TK_REQUIRE(is_read_as_terms && terms == trueTerms(result()), HostProgram,
                 "{}: it reads {}, which is {}: a rank has a term of it; a Communication comes before it", where(),
                 nameOf(*operand), toString(terms[0]));
      expected = terms;
    }
    if (isIdentity()) expected = trueTerms(result());
    for (const auto& [number, part] : reduced_) {
      const Partial term{.kind = reduction()->reduction, .type = *deviceTypeOf(*part.mesh, part.dimension)};
      const bool is_marked = *part.mesh == result().mesh() && std::ranges::count(result().partials(), term) > 0;
      TK_REQUIRE(is_marked, HostProgram,
                 "{}: a rank reduces its part of axis {} of the operand, and {} is not {} on that mesh; mark it, and "
                 "let a Communication read it",
                 where(), operandAxisOf(number), nameOf(result()), toString(term));
      expected.push_back(term);
    }
    for (const Partial& term : trueTerms(result())) {
      TK_REQUIRE(std::ranges::count(expected, term) > 0, HostProgram,
                 "{}: {} is {}, and the op reduces no parts over {}: all ranks have the whole value", where(),
                 nameOf(result()), toString(term), parallelTypeName(term.type));
    }
  }

  // Whether the op combines these terms with other ones of the same ranks, as their reduction does.
  bool combinesTerms(const std::vector<Partial>& terms) const {
    const auto* op = op_.as<PointwiseOp>();
    if (op == nullptr || terms.size() != 1 || op->function != kir::combiningFunction(terms[0].kind)) return false;
    return std::ranges::all_of(op->ins, [&](Val* in) {
      const TensorView* operand = asTensor(in);
      return operand != nullptr && operand->mesh() == result().mesh() && trueTerms(*operand) == terms;
    });
  }

  // Whether the result is the value that changes no reduction of terms, so that each rank may have it as its term.
  bool isIdentity() const {
    const auto* op = op_.as<FullOp>();
    if (op == nullptr || !op->value->isConstant()) return false;
    return std::ranges::all_of(result().partials(), [&](const Partial& term) {
      return isSameValue(op->value->value(), reductionIdentity(term.kind, op->dtype));
    });
  }

  // Of the first operand that has the reduced axis.
  int64_t operandAxisOf(size_t number) const {
    for (const TensorView* operand : tensorsOf(op_.inputs())) {
      const auto rank = static_cast<int64_t>(shapeOf(*operand).size());
      for (int64_t axis = 0; axis < rank; ++axis)
        if (reducedAxis(*operand, axis) == number) return axis;
    }
    return -1;
  }

  // The result's reduction axes are those of the reduction, in order.
  void tellReducedParts() {
    if (reduced_.empty()) return;
    size_t number = 0;
    for (const IterDomain* axis : result().logical()) {
      if (!axis->isReduction()) continue;
      if (const auto found = reduced_.find(number++); found != reduced_.end())
        tensors_.setReducedPart(*axis, found->second);
    }
    TK_CHECK(number == reduction()->axes.size(), "{}: {} reduction axes for {} reduced ones", where(), number,
             reduction()->axes.size());
  }

  const Expr& op_;
  LocalTensors& tensors_;
  bool slices_;
  PartAxes axes_;
  std::set<std::pair<const TensorView*, int64_t>> along_;  // axes of operands that go along with one of the result
  std::map<size_t, LocalPart> reduced_;
  std::vector<SlicedAxis> sliced_;
};

// What attributes say of the axes of `field.of`, which are parts.
void cutToParts(const Fields& fields, Field& field, LocalTensors& tensors) {
  if (field.relation != AxisRelation::Extents && field.relation != AxisRelation::Origin) return;
  const auto rank = static_cast<int64_t>(shapeOf(*field.of).size());
  for (int64_t axis = 0; axis < rank; ++axis) {
    const LocalPart* part = tensors.partOf(*field.of, axis);
    if (part == nullptr) continue;
    cutField(tensors.target(), fields, field,
             {.axis = axis, .drops_axis = false, .start = part->range.start, .extent = part->range.extent});
  }
}

// A slice along an axis that is dealt out ends where the rank's part of its result does.
void stopAtParts(const SliceOp& slice, Fields& fields, LocalTensors& tensors) {
  auto& stops = std::get<std::vector<Scalar*>>(std::ranges::find(fields, "stops", &Field::name)->value);
  for (size_t axis = 0; axis < stops.size(); ++axis) {
    const LocalPart* own = tensors.partOf(*slice.out, static_cast<int64_t>(axis));
    if (own != nullptr) stops[axis] = own->range.extent;
  }
}

}  // namespace

std::vector<SlicedAxis> requireLocal(const Expr& op, LocalTensors& tensors, WholeReads reads) {
  return LocalOp(op, tensors, reads).check();
}

Fields localFields(const Expr& statement, LocalTensors& tensors) {
  Fields fields = fieldsOf(statement);
  for (Field& field : fields) {
    if (auto* scalar = std::get_if<Scalar*>(&field.value)) *scalar = tensors.scalar(*scalar);
    if (auto* val = std::get_if<Val*>(&field.value)) *val = tensors.val(*val);
    if (auto* axis = std::get_if<IterDomain*>(&field.value)) *axis = tensors.wholeAxis(*axis);
    if (auto* vals = std::get_if<std::vector<Val*>>(&field.value))
      std::ranges::transform(*vals, vals->begin(), [&](Val* val) { return tensors.val(val); });
    if (auto* scalars = std::get_if<std::vector<Scalar*>>(&field.value))
      std::ranges::transform(*scalars, scalars->begin(), [&](Scalar* scalar) { return tensors.scalar(scalar); });
  }
  for (Field& field : fields) {
    if (field.of != nullptr) cutToParts(fields, field, tensors);
  }
  if (const auto* slice = statement.as<SliceOp>()) stopAtParts(*slice, fields, tensors);
  return fields;
}

}  // namespace tokamak
