#include "analysis/resharding_steps.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/require.h"
#include "base/text.h"

namespace tokamak {

namespace {

using Form = MeshUse::Form;
using Kind = ReshardingStep::Kind;

bool contains(const DeviceMesh& mesh, int64_t rank) {
  return std::ranges::find(mesh.devices, rank) != mesh.devices.end();
}

bool hasRanksOf(const DeviceMesh& mesh, const DeviceMesh& other) {
  return std::ranges::all_of(other.devices, [&](int64_t rank) { return contains(mesh, rank); });
}

DeviceMesh meshOf(int64_t rank) { return {.shape = {1}, .devices = {rank}}; }

bool has(const Sharding& sharding, Form form) {
  return std::ranges::any_of(sharding.uses, [&](const MeshUse& use) { return use.form == form; });
}

// The first dimension over which `to` has terms that `from` has not.
std::optional<size_t> newTerms(const Sharding& from, const Sharding& to) {
  for (size_t i = 0; i < to.uses.size(); ++i) {
    const bool is_kept = from.mesh == to.mesh && from.uses[i] == to.uses[i];
    if (to.uses[i].form == Form::Partial && !is_kept) return i;
  }
  return std::nullopt;
}

// A change of what one dimension of the mesh does, and how it is ranked: by the bytes that are left to be sent.
struct Change {
  int rank = 0;
  Kind kind = Kind::Slice;
  MeshUse to;
};

class Planner {
 public:
  Planner(std::string_view operation, const Sharding& from, const Sharding& to)
      : operation_(operation), state_(from), to_(to) {}

  std::vector<ReshardingStep> plan() {
    requireReachable();
    if (state_.mesh == to_.mesh)
      changeUses(to_);
    else
      changeRanks();
    return std::move(steps_);
  }

 private:
  void requireReachable() const {
    const auto dimension = newTerms(state_, to_);
    TK_REQUIRE(!dimension, HostProgram,
               "{}: the result is partial over dimension {} of its mesh, and the operand is not partial alike; terms "
               "come of reductions alone: leave `partial` out",
               operation_, dimension.value_or(0));
  }

  void take(Kind kind, size_t dimension, Sharding to) {
    state_ = std::move(to);
    steps_.push_back({.kind = kind, .dimension = dimension, .to = state_});
  }

  // --- on one mesh: dimension by dimension ---

  void changeUses(const Sharding& to) {
    while (true) {
      std::optional<std::pair<size_t, Change>> best;
      for (size_t i = 0; i < state_.uses.size(); ++i) {
        if (state_.uses[i] == to.uses[i]) continue;
        const std::optional<Change> change = changeOf(state_.uses[i], to.uses[i], i);
        if (change && (!best || change->rank < best->second.rank)) best = {i, *change};
      }
      if (!best) return;
      Sharding next = state_;
      next.uses[best->first] = best->second.to;
      take(best->second.kind, best->first, std::move(next));
    }
  }

  // Nothing while another dimension has parts of the axis that this one is to have parts of.
  std::optional<Change> changeOf(const MeshUse& from, const MeshUse& to, size_t dimension) const {
    const int64_t holder = to.form == Form::Chunk ? state_.dimensionOf(to.parts.axis) : -1;
    const bool is_free = holder < 0 || holder == static_cast<int64_t>(dimension);
    if (from.form == Form::Whole) return is_free ? std::optional(Change{0, Kind::Slice, to}) : std::nullopt;
    if (from.form == Form::Partial && to.form == Form::Whole) return Change{3, Kind::Allreduce, to};
    if (from.form == Form::Partial)
      return is_free ? Change{1, Kind::ReduceScatter, to} : Change{6, Kind::Allreduce, {}};
    if (to.form == Form::Whole) return Change{4, Kind::Allgather, to};
    // Other chunks of the axis; or dimensions that have parts of one another's axes: one of them is gathered.
    if (to.parts.axis == from.parts.axis || !is_free) return Change{5, Kind::Allgather, {}};
    return Change{has(state_, Form::Partial) ? 7 : 2, Kind::AllToAll, to};  // nothing packs terms
  }

  // --- to another mesh ---

  void changeRanks() {
    const DeviceMesh& own = state_.mesh;
    const DeviceMesh& other = to_.mesh;
    const bool keeps_ranks = hasRanksOf(own, other);
    const bool has_same_ranks = keeps_ranks && hasRanksOf(other, own);
    if (state_.isWhole()) return spreadWhole();
    if (own.shape == other.shape && (has(to_, Form::Chunk) || (own.shape.size() > 1 && has(state_, Form::Chunk))))
      return sendPairs();
    if (own.shape.size() == 1 && !has_same_ranks) return collect();
    changeUses(wholeOn(own));
    spreadWhole();
  }

  void spreadWhole() {
    if (hasRanksOf(state_.mesh, to_.mesh)) return take(Kind::Slice, 0, to_);
    if (to_.isWhole()) return take(Kind::Broadcast, 0, to_);
    if (to_.mesh.shape.size() == 1) return take(Kind::Scatter, 0, to_);
    take(Kind::Broadcast, 0, wholeOn(to_.mesh));
    changeUses(to_);
  }

  // What makes less of it comes before it is sent, what makes more of it comes behind.
  void sendPairs() {
    Sharding sent = to_;
    sent.mesh = state_.mesh;
    for (size_t i = 0; i < sent.uses.size(); ++i) {
      const MeshUse& use = state_.uses[i];
      const bool is_kept =
          use.form == Form::Chunk && to_.uses[i].form == Form::Whole && to_.dimensionOf(use.parts.axis) < 0;
      if (is_kept) sent.uses[i] = use;
    }
    changeUses(sent);
    sent.mesh = to_.mesh;
    take(Kind::SendRecv, 0, std::move(sent));
    changeUses(to_);
  }

  // Of a mesh of one dimension: to each rank of the other one, or to one rank that spreads it.
  void collect() {
    if (has(state_, Form::Chunk) && to_.isWhole()) return take(Kind::Gather, 0, to_);
    const bool is_partial = has(state_, Form::Partial);
    const std::vector<int64_t>& own = state_.mesh.devices;
    const std::vector<int64_t>& other = to_.mesh.devices;
    const auto shared = std::ranges::find_if(other, [&](int64_t rank) { return contains(state_.mesh, rank); });
    const int64_t fallback = is_partial ? own[0] : other[0];
    const int64_t root = shared != other.end() ? *shared : fallback;
    Sharding whole = to_.mesh.devices.size() == 1 && root == other[0] ? to_ : wholeOn(meshOf(root));
    take(is_partial ? Kind::Reduce : Kind::Gather, 0, std::move(whole));
    if (!(state_ == to_)) spreadWhole();
  }

  std::string_view operation_;
  Sharding state_;
  const Sharding& to_;
  std::vector<ReshardingStep> steps_;
};

}  // namespace

std::vector<ReshardingStep> reshardingSteps(std::string_view operation, const Sharding& from, const Sharding& to) {
  return Planner(operation, from, to).plan();
}

bool canReshard(const Sharding& from, const Sharding& to) { return !newTerms(from, to); }

}  // namespace tokamak
