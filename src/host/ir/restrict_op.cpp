#include "host/ir/restrict_op.h"

#include <algorithm>

#include "analysis/sharding.h"
#include "base/require.h"
#include "schedule/shard.h"
#include "symbolic/scalar_simplifier.h"

namespace tokamak {

namespace {

template <class T>
void eraseEntries(std::vector<T>& list, int64_t axis, size_t rank) {
  const size_t per_axis = rank == 0 ? 0 : list.size() / rank;
  const auto first = list.begin() + static_cast<std::ptrdiff_t>(axis * static_cast<int64_t>(per_axis));
  list.erase(first, first + static_cast<std::ptrdiff_t>(per_axis));
}

void renumber(std::vector<int64_t>& numbers, int64_t dropped) {
  std::erase(numbers, dropped);
  for (int64_t& number : numbers) number -= number > dropped ? 1 : 0;
}

void dropAxis(Field& field, int64_t axis) {
  const size_t rank = shapeOf(*field.of).size();
  switch (field.relation) {
    case AxisRelation::Number: {
      auto& number = std::get<int64_t>(field.value);
      TK_CHECK(number != axis, "'{}' is axis {} of {}, which is taken away", field.name, axis, toString(*field.of));
      number -= number > axis ? 1 : 0;
      return;
    }
    case AxisRelation::Numbers:
    case AxisRelation::Permutation: return renumber(std::get<std::vector<int64_t>>(field.value), axis);
    case AxisRelation::PerAxis:
    case AxisRelation::Extents:
      if (auto* scalars = std::get_if<std::vector<Scalar*>>(&field.value)) return eraseEntries(*scalars, axis, rank);
      if (auto* flags = std::get_if<std::vector<bool>>(&field.value)) return eraseEntries(*flags, axis, rank);
      if (auto* numbers = std::get_if<std::vector<int64_t>>(&field.value)) return eraseEntries(*numbers, axis, rank);
      break;
    default: break;
  }
  TK_RAISE(Internal, "'{}' cannot lose an axis", field.name);
}

// In f64 if it is a floating number: what is computed of it is rounded once, by the op.
Scalar* exactly(Fusion& program, Scalar* scalar) {
  if (!isFloatingType(scalar->dtype()) || scalar->dtype() == DataType::F64) return scalar;
  if (scalar->isConstant()) return program.constant(scalar->value(), DataType::F64);
  return simplify(program.rawScalar(ScalarOp::Cast, DataType::F64, {&scalar, 1}));
}

}  // namespace

void cutField(Fusion& program, const Fields& fields, Field& field, const AxisSlice& slice) {
  if (field.relation == AxisRelation::Extents) {
    if (auto* list = std::get_if<std::vector<Scalar*>>(&field.value))
      (*list)[static_cast<size_t>(slice.axis)] = slice.extent;
    else
      field.value = slice.extent;
  } else if (field.relation == AxisRelation::Origin) {
    const auto step = std::ranges::find(fields, "step", &Field::name);
    TK_CHECK(step != fields.end(), "'{}' has no step", field.name);
    Scalar* moved = program.mul(slice.start, exactly(program, std::get<Scalar*>(step->value)));
    field.value = program.add(exactly(program, std::get<Scalar*>(field.value)), moved);
  }
}

int64_t logicalAxisNumber(const TensorView& tensor, const IterDomain& axis) {
  const auto found = std::ranges::find(tensor.logical(), &axis);
  TK_CHECK(found != tensor.logical().end(), "{} is not a logical axis", describeAxis(tensor, axis));
  return found - tensor.logical().begin();
}

int64_t visibleAxisNumber(const TensorView& tensor, const IterDomain& axis) {
  const Axes shape = shapeOf(tensor);
  const auto found = std::ranges::find(shape, &axis);
  TK_CHECK(found != shape.end(), "{} is not a visible axis", describeAxis(tensor, axis));
  return found - shape.begin();
}

// Gives the slice along axis `cut` of the visible shape the same parts of the other axes, and all of its own.
static void shardLike(TensorView& slice, const TensorView& tensor, size_t cut) {
  const bool is_dropped = shapeOf(slice).size() < shapeOf(tensor).size();
  const auto along = static_cast<int64_t>(cut);
  Sharding sharding = shardingOf(tensor);
  for (MeshUse& use : sharding.uses) {
    if (use.form != MeshUse::Form::Chunk || use.parts.axis < along) continue;
    if (use.parts.axis == along)
      use = {};
    else if (is_dropped)
      --use.parts.axis;
  }
  shard(slice, sharding);
  slice.setPartials(tensor.partials());
}

TensorView* makeSliceTensor(Fusion& program, const TensorView& tensor, int64_t logical_axis, Scalar* extent,
                            CutAxis cut) {
  Axes axes;
  for (size_t i = 0; i < tensor.logical().size(); ++i) {
    const IterDomain& axis = *tensor.logical()[i];
    // Other device axes stay what they are; marks of the cut one, or for streams, belong to the whole tensor's loops.
    const bool is_cut = static_cast<int64_t>(i) == logical_axis;
    const bool is_marked = !is_cut && axis.parallelType() != ParallelType::Stream;
    const ParallelType parallel = is_marked ? axis.parallelType() : ParallelType::Serial;
    if (is_cut && extent == nullptr) continue;
    const bool is_counted = is_cut && cut == CutAxis::Counted && axis.expandedExtent() == nullptr;
    const bool is_iteration = is_cut && (!axis.isBroadcast() || is_counted);
    axes.push_back(
        program.axis({.kind = is_counted && axis.isBroadcast() ? IterKind::Iteration : axis.kind(),
                      .extent = is_iteration ? extent : axis.extent(),
                      .expanded_extent = is_cut && axis.expandedExtent() != nullptr ? extent : axis.expandedExtent(),
                      .is_rfactor = axis.isRFactor(),
                      .parallel = parallel}));
  }
  TensorView* slice = program.tensor(tensor.dtype(), std::move(axes));
  slice->setMemoryType(MemoryType::Local);
  slice->setMemoryKind(tensor.memoryKind());
  const IterDomain& cut_axis = *tensor.logical()[static_cast<size_t>(logical_axis)];
  if (!tensor.mesh().empty()) shardLike(*slice, tensor, static_cast<size_t>(visibleAxisNumber(tensor, cut_axis)));
  return slice;
}

Expr* restrictOp(Fusion& program, const Expr& expr, const AxisSlices& slices, const OtherTensors& others,
                 const OtherAttributes& attributes) {
  Fields fields = fieldsOf(expr);
  for (Field& field : fields) {
    if (const auto other = attributes.find(field.name); other != attributes.end()) field.value = other->second;
    if (field.relation == AxisRelation::None || field.of == nullptr) continue;
    const auto found = slices.find(field.of);
    if (found == slices.end()) continue;
    if (found->second.drops_axis)
      dropAxis(field, found->second.axis);
    else
      cutField(program, fields, field, found->second);
  }
  const auto replace = [&](Val* val) -> Val* {
    const TensorView* tensor = asTensor(val);
    if (tensor == nullptr) return val;
    if (const auto found = slices.find(tensor); found != slices.end()) return found->second.slice;
    const auto other = others.find(tensor);
    return other == others.end() ? val : other->second;
  };
  for (Field& field : fields) {
    if (auto* val = std::get_if<Val*>(&field.value)) *val = replace(*val);
    if (auto* vals = std::get_if<std::vector<Val*>>(&field.value))
      std::ranges::transform(*vals, vals->begin(), replace);
  }
  return program.append(makeExpr(expr.kind(), fields));
}

}  // namespace tokamak
