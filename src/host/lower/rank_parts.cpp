#include "host/lower/rank_parts.h"

#include <algorithm>
#include <array>

#include "analysis/sharding.h"
#include "analysis/shards.h"
#include "host/ir/restrict_op.h"
#include "ir/ops/host/hir_alias_select.h"
#include "ir/ops/host/hir_alias_slice.h"
#include "ir/ops/math/load_store_op.h"
#include "symbolic/scalar_simplifier.h"
#include "symbolic/symbols.h"

namespace tokamak {

namespace {

using Form = MeshUse::Form;

// What a slice of the part's own indices looks like, however its start is clamped (as lower-streams writes it).
bool isChunkAt(HostIrContainer& program, const HirAliasSlice& slice, Scalar* index, Scalar* chunk) {
  Scalar* const extent = slice.in->logical()[static_cast<size_t>(slice.axis)]->visibleExtent();
  Scalar* const start = program.mul(index, chunk);
  return std::ranges::any_of(std::array{start, program.scalar(ScalarOp::Min, start, extent)}, [&](Scalar* from) {
    return slice.start == from && slice.stop == program.scalar(ScalarOp::Min, program.add(from, chunk), extent);
  });
}

// Whether the index is computed of the rank's number: each rank has another one.
bool isOfRank(const Scalar& index) {
  return std::ranges::any_of(symbolsOf(index), [](const Scalar* symbol) { return symbol->name() == "rank"; });
}

}  // namespace

bool hasPartsOfRanks(const StreamAxis& axis, const TensorView& dealt, size_t dimension) {
  if (axis.form == StreamAxis::Form::Merged || axis.logical->isBroadcast()) return false;
  const Sharding sharding = shardingOf(dealt);
  const MarkedParts& parts = sharding.uses[dimension].parts;
  const bool is_alike = axis.chunk == nullptr ? parts.chunk->isConstantInt(1) : simplify(axis.chunk) == parts.chunk;
  const bool has_count = simplify(axis.loop_axis->extent())->isConstantInt(sharding.mesh.shape[dimension]);
  return is_alike && (has_count || (axis.chunk == nullptr && parts.cuts.empty()));
}

std::optional<StreamAxis> axisOfReceivers(const Expr& expr) {
  const auto* set = expr.as<LoadStoreOp>();
  if (set == nullptr || set->in->mesh().empty() || set->in->mesh() != set->out->mesh()) return std::nullopt;
  const Sharding from = shardingOf(*set->in);
  const Sharding to = shardingOf(*set->out);
  std::optional<size_t> dimension;
  for (size_t i = 0; i < to.uses.size(); ++i) {
    if (from.uses[i] == to.uses[i]) continue;
    const bool is_received = from.uses[i].form == Form::Partial && to.uses[i].form == Form::Chunk;
    if (dimension || !is_received) return std::nullopt;
    dimension = i;
  }
  if (!dimension) return std::nullopt;
  for (const Shard& shard : shardsOf(*set->out)) {
    if (shard.dimension != *dimension) continue;
    const StreamAxis axis = logicalPartOf(*set->out, *shard.loop_axis);
    if (hasPartsOfRanks(axis, *set->out, *dimension)) return axis;
  }
  return std::nullopt;
}

std::optional<RankPart> rankPartOf(HostIrContainer& program, const Expr& view, Scalar* index) {
  const auto* select = view.as<HirAliasSelect>();
  const auto* slice = view.as<HirAliasSlice>();
  if (select == nullptr && (slice == nullptr || index == nullptr)) return std::nullopt;
  TensorView* const of = select != nullptr ? select->in : slice->in;
  const IterDomain& axis = *of->logical()[static_cast<size_t>(select != nullptr ? select->axis : slice->axis)];
  if (of->mesh().empty() || axis.isReduction() || (select != nullptr && isOfRank(*select->index))) return std::nullopt;
  RankPart part = {.of = of,
                   .axis = visibleAxisNumber(*of, axis),
                   .position = select != nullptr ? select->index : index,
                   .drops_axis = select != nullptr};
  const Sharding sharding = shardingOf(*of);
  const int64_t dimension = sharding.dimensionOf(part.axis);
  if (dimension < 0) return std::nullopt;
  part.dimension = static_cast<size_t>(dimension);
  Scalar* const chunk = sharding.uses[part.dimension].parts.chunk;
  const bool is_part = select != nullptr ? chunk->isConstantInt(1) : isChunkAt(program, *slice, index, chunk);
  return is_part ? std::optional(part) : std::nullopt;
}

Scalar* memberAt(HostIrContainer& program, std::span<const int64_t> team, Scalar* position) {
  const int64_t step = team.size() > 1 ? team[1] - team[0] : 1;
  bool is_regular = true;
  for (size_t i = 0; i < team.size(); ++i) is_regular &= team[i] == team[0] + static_cast<int64_t>(i) * step;
  if (is_regular) return program.add(program.mul(position, program.constant(step)), program.constant(team[0]));
  Scalar* member = program.constant(team.back());
  for (size_t i = team.size() - 1; i-- > 0;) {
    Scalar* const is_here = program.scalar(ScalarOp::Equal, position, program.constant(static_cast<int64_t>(i)));
    member = program.scalar(ScalarOp::Select, is_here, program.constant(team[i]), member);
  }
  return member;
}

}  // namespace tokamak
