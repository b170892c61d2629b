#include "host/local/communicated_parts.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "analysis/device_mesh.h"
#include "analysis/sharding.h"
#include "base/require.h"
#include "base/text.h"
#include "ir/text/mesh_text.h"

namespace tokamak {

namespace {

using Form = MeshUse::Form;
using Type = CommunicationType;

constexpr int64_t kNone = -1;

// What a rank has of a tensor: a part of some axes (by their visible number), and a term over some dimensions.
struct Holding {
  std::map<int64_t, int64_t> parts;
  std::map<ParallelType, int64_t> terms;
  bool operator==(const Holding&) const = default;
};

bool dealsInput(Type type) { return type == Type::Gather || type == Type::Allgather || type == Type::AllToAll; }
bool dealsOutput(Type type) { return type == Type::Scatter || type == Type::ReduceScatter || type == Type::AllToAll; }
bool combinesTerms(Type type) { return type == Type::Reduce || type == Type::Allreduce || type == Type::ReduceScatter; }
bool isReadAtRoot(Type type) { return type == Type::Scatter || type == Type::Broadcast || type == Type::SendRecv; }
bool isWrittenAtRoot(Type type) { return type == Type::Gather || type == Type::Reduce; }

// The axis of `dealt` whose parts are whole in `other`, if it is one; else kNone.
int64_t movedAxis(const Sharding& dealt, const Sharding& other) {
  int64_t moved = kNone;
  for (size_t i = 0; i < dealt.uses.size(); ++i) {
    if (dealt.uses[i].form != Form::Chunk) continue;
    const int64_t axis = dealt.uses[i].parts.axis;
    const int64_t dimension = other.dimensionOf(axis);
    const bool is_kept =
        dimension >= 0 && deviceTypeOf(other.mesh, static_cast<size_t>(dimension)) == deviceTypeOf(dealt.mesh, i);
    if (is_kept) continue;
    if (moved != kNone) return kNone;
    moved = axis;
  }
  return moved;
}

std::optional<Holding> holdingOf(const Sharding& sharding, int64_t rank) {
  if (sharding.mesh.empty()) return Holding{};
  const auto at = coordinatesOf(sharding.mesh, rank);
  if (!at) return std::nullopt;
  Holding holding;
  for (size_t i = 0; i < sharding.uses.size(); ++i) {
    const MeshUse& use = sharding.uses[i];
    if (use.form == Form::Chunk) holding.parts[use.parts.axis] = (*at)[i];
    if (use.form == Form::Partial) holding.terms[*deviceTypeOf(sharding.mesh, i)] = (*at)[i];
  }
  return holding;
}

class CommunicatedParts {
 public:
  explicit CommunicatedParts(const Communication& op)
      : op_(op),
        in_(shardingOf(*op.in)),
        out_(shardingOf(*op.out)),
        root_(op.root == nullptr ? std::nullopt : op.root->constantInt()) {}

  void check() {
    const std::optional<size_t> combined = requireTerms();
    // (A Broadcast may read the part that its root has, and a Reduce write it.)
    const int64_t from = dealsInput(op_.type) || op_.type == Type::Broadcast ? movedAxis(in_, out_) : kNone;
    const int64_t to = dealsOutput(op_.type) || op_.type == Type::Reduce ? movedAxis(out_, in_) : kNone;
    // (Where no axis is dealt out, or several are, there are no parts to move: that is told by who looks for them.)
    if ((dealsInput(op_.type) && from == kNone) || (dealsOutput(op_.type) && to == kNone)) return;
    if (from != kNone) requireOrder(*op_.in, in_, from);
    if (to != kNone) requireOrder(*op_.out, out_, to);
    if (shapeOf(*op_.in).size() != shapeOf(*op_.out).size()) return;
    std::optional<std::pair<int64_t, Holding>> first;
    for (const int64_t rank : op_.team) {
      std::optional<Holding> sent = sends(rank) ? holdingOf(in_, rank) : std::nullopt;
      if (!sent) continue;
      sent->parts.erase(from);
      if (combined) sent->terms.erase(*deviceTypeOf(in_.mesh, *combined));
      if (!first) first.emplace(rank, *sent);
      requireSame(*first, *op_.in, rank, *sent);
    }
    if (!first) return;
    for (const int64_t rank : op_.team) {
      std::optional<Holding> received = receives(rank) ? holdingOf(out_, rank) : std::nullopt;
      if (!received) continue;
      received->parts.erase(to);
      requireSame(*first, *op_.out, rank, *received);
    }
  }

 private:
  std::string where() const { return fmt::format("local program: {}", enumName(op_.type)); }
  std::string team() const { return "(" + joined(op_.team, " ") + ")"; }

  // Any member may be a root that is computed.
  bool mayBeRoot(int64_t rank) const { return !root_ || *root_ == rank; }
  bool sends(int64_t rank) const { return mayBeRoot(rank) || !isReadAtRoot(op_.type); }
  bool receives(int64_t rank) const {
    if (op_.type == Type::SendRecv) return root_ != rank || op_.team.size() == 1;
    return mayBeRoot(rank) || !isWrittenAtRoot(op_.type);
  }

  // Whether the team is all ranks that differ from one of them in this dimension alone.
  bool isRow(const DeviceMesh& mesh, size_t dimension) const {
    if (op_.team.empty() || !hasRank(mesh, op_.team[0])) return false;
    const std::vector<int64_t> row = teamOf(mesh, op_.team[0], dimension);
    return std::set<int64_t>(row.begin(), row.end()) == std::set<int64_t>(op_.team.begin(), op_.team.end());
  }

  // Reductions combine the terms of a partial tensor; other communications move what they get. Gives the dimension of
  // the terms that are combined.
  std::optional<size_t> requireTerms() const {
    std::vector<Partial> left = trueTerms(*op_.in);
    std::optional<size_t> combined;
    if (combinesTerms(op_.type)) {
      const auto isOfKind = [&](const Partial& term) { return term.kind == op_.reduction; };
      const auto isCombined = [&](const Partial& term) {
        return isOfKind(term) && isRow(in_.mesh, *meshDimension(in_.mesh, term.type));
      };
      const auto term = std::ranges::find_if(left, isCombined);
      const auto other = std::ranges::find_if(left, isOfKind);
      TK_REQUIRE(term != left.end() || other == left.end(), HostProgram,
                 "{}: {} is {} over a row of {}, and its team {} is none; name all ranks of a row, whose "
                 "terms it combines",
                 where(), nameOf(*op_.in), toString(*other), printMesh(in_.mesh), team());
      TK_REQUIRE(term != left.end() || op_.team.size() == 1, HostProgram,
                 "{}: its input {} is not partial({}, ..) over the dimension of its team: all ranks have the same; "
                 "mark it partial, or leave the communication out",
                 where(), nameOf(*op_.in), enumName(op_.reduction));
      if (term != left.end()) {
        combined = meshDimension(in_.mesh, term->type);
        left.erase(term);
      }
    }
    const auto text = [](const std::vector<Partial>& terms) {
      return terms.empty() ? std::string("whole") : toString(terms[0]);
    };
    TK_REQUIRE(left == trueTerms(*op_.out), HostProgram, "{}: what it gives of {} is {}, and its output {} is {}",
               where(), nameOf(*op_.in), text(left), nameOf(*op_.out), text(trueTerms(*op_.out)));
    return combined;
  }

  // Parts lie one behind the other in the order of the team.
  void requireOrder(const TensorView& dealt, const Sharding& sharding, int64_t axis) const {
    const auto dimension = static_cast<size_t>(sharding.dimensionOf(axis));
    std::vector<int64_t> parts;
    for (const int64_t rank : op_.team) {
      if (const auto at = coordinatesOf(sharding.mesh, rank)) parts.push_back((*at)[dimension]);
    }
    const int64_t devices = sharding.mesh.shape[dimension];
    bool is_ordered = std::ssize(parts) == devices;
    for (size_t i = 0; i < parts.size(); ++i) is_ordered = is_ordered && parts[i] == static_cast<int64_t>(i);
    TK_REQUIRE(is_ordered, HostProgram,
               "{}: its team {} has the parts {} of axis {} of {}, which is dealt out in {} parts over {}; a "
               "team has all of them, in the order of the mesh",
               where(), team(), parts.empty() ? "none" : joined(parts, " "), axis, nameOf(dealt), devices,
               printMesh(sharding.mesh));
  }

  void requireSame(const std::pair<int64_t, Holding>& sent, const TensorView& tensor, int64_t rank,
                   const Holding& own) const {
    if (sent.second == own) return;
    TK_RAISE(
        HostProgram,
        "{}: of {} rank {} has {}, and of {} rank {} has {}; a communication brings a rank what its mesh says that "
        "it has: name a team or tensors that fit",
        where(), nameOf(*op_.in), sent.first, inWords(sent.second), nameOf(tensor), rank, inWords(own));
  }

  static std::string inWords(const Holding& holding) {
    std::vector<std::string> words;
    for (const auto& [axis, part] : holding.parts) words.push_back(fmt::format("part {} of axis {}", part, axis));
    for (const auto& [type, term] : holding.terms)
      words.push_back(fmt::format("term {} over {}", term, parallelTypeName(type)));
    return words.empty() ? "all" : joined(words, " and ");
  }

  const Communication& op_;
  const Sharding in_;
  const Sharding out_;
  const std::optional<int64_t> root_;  // where it is a number
};

}  // namespace

void requireCommunicatedParts(const Communication& op) {
  const bool lacks_input = op.in == nullptr;
  TK_REQUIRE(
      !lacks_input && op.out != nullptr, HostProgram,
      "local program: {}: it has no {}; a program over all ranks names both sides, and `none` stands in programs "
      "of one rank alone",
      enumName(op.type), lacks_input ? "input" : "output");
  CommunicatedParts(op).check();
}

}  // namespace tokamak
