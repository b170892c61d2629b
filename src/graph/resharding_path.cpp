#include "graph/resharding_path.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "base/require.h"

namespace tokamak {

namespace {

using Form = MeshUse::Form;

bool isParts(const MeshUse& use) { return use.form == Form::Chunk; }

// The part of the tensor that a rank has, or of its elements one has terms of.
double shareOf(const Sharding& sharding) {
  double share = 1;
  for (size_t d = 0; d < sharding.uses.size(); ++d)
    if (isParts(sharding.uses[d])) share /= static_cast<double>(sharding.mesh.shape[d]);
  return share;
}

// What a rank sends, as a part of the tensor.
double costOf(const Sharding& from, size_t dimension, const MeshUse& to) {
  const auto devices = static_cast<double>(from.mesh.shape[dimension]);
  const double others = (devices - 1) / devices;
  switch (from.uses[dimension].form) {
    case Form::Whole: return 0;
    case Form::Chunk: return shareOf(from) * (isParts(to) ? others : devices - 1);
    case Form::Partial: return shareOf(from) * (isParts(to) ? others : 2 * others);
  }
  return 0;
}

// What the dimension may become next on its way: nothing where another dimension has parts of that axis now.
std::optional<MeshUse> nextUse(const Sharding& from, size_t dimension, const MeshUse& to) {
  if (!isParts(to)) return to;
  const MeshUse& own = from.uses[dimension];
  if (isParts(own) && own.parts.axis == to.parts.axis) return MeshUse{};  // other parts of one axis
  for (size_t d = 0; d < from.uses.size(); ++d) {
    const MeshUse& other = from.uses[d];
    if (d != dimension && isParts(other) && other.parts.axis == to.parts.axis) return std::nullopt;
  }
  return to;
}

// On one mesh.
void changeDimensions(Sharding from, const Sharding& to, std::vector<Sharding>& path) {
  while (!(from == to)) {
    double least = std::numeric_limits<double>::infinity();
    std::pair<size_t, MeshUse> best;
    for (size_t d = 0; d < from.uses.size(); ++d) {
      if (from.uses[d] == to.uses[d]) continue;
      const auto next = nextUse(from, d, to.uses[d]);
      if (next && costOf(from, d, *next) < least) {
        least = costOf(from, d, *next);
        best = {d, *next};
      }
    }
    // Dimensions that wait for one another's axes: one of them gives its axis up.
    if (least == std::numeric_limits<double>::infinity()) {
      const auto waiting = std::ranges::mismatch(from.uses, to.uses);
      best = {static_cast<size_t>(waiting.in1 - from.uses.begin()), MeshUse{}};
    }
    from.uses[best.first] = best.second;
    path.push_back(from);
  }
}

bool isLine(const DeviceMesh& mesh) {
  return std::ranges::count_if(mesh.shape, [](int64_t size) { return size > 1; }) <= 1;
}

bool hasRanksOf(const DeviceMesh& mesh, const DeviceMesh& other) {
  return std::ranges::all_of(other.devices,
                             [&](int64_t rank) { return std::ranges::find(mesh.devices, rank) != mesh.devices.end(); });
}

// What the only dimension has that is longer than 1.
MeshUse useOfLine(const Sharding& sharding) {
  const auto found = std::ranges::find_if_not(sharding.uses, &MeshUse::isWhole);
  return found == sharding.uses.end() ? MeshUse{} : *found;
}

// Whether each rank of one line sends its part to one rank of the other.
bool isMoveOfParts(const Sharding& from, const Sharding& to) {
  return isLine(from.mesh) && isLine(to.mesh) && isParts(useOfLine(from)) &&
         useOfLine(from) == useOfLine(to) && from.mesh.devices.size() == to.mesh.devices.size();
}

}  // namespace

bool canReshard(const Sharding& from, const Sharding& to) {
  for (size_t d = 0; d < to.uses.size(); ++d) {
    if (to.uses[d].form != Form::Partial) continue;
    if (!(from.mesh == to.mesh) || !(from.uses[d] == to.uses[d])) return false;
  }
  return true;
}

std::vector<Sharding> reshardingPath(const Sharding& from, const Sharding& to) {
  TK_CHECK(canReshard(from, to), "a path to terms that are not there");
  std::vector<Sharding> path;
  if (from.mesh == to.mesh) {
    changeDimensions(from, to, path);
    return path;
  }
  if (isMoveOfParts(from, to)) return {to};
  const bool has_ranks = hasRanksOf(from.mesh, to.mesh);
  const bool is_same_job = has_ranks && hasRanksOf(to.mesh, from.mesh);
  Sharding left = from;
  if (!from.isWhole() && (!isLine(from.mesh) || is_same_job)) {
    left = wholeOn(from.mesh);
    changeDimensions(from, left, path);
  }
  Sharding arrived = wholeOn(to.mesh);
  const auto dealt = std::ranges::find_if(to.uses, isParts);
  if (left.isWhole() && dealt != to.uses.end() && (has_ranks || isLine(to.mesh)))
    arrived.uses[static_cast<size_t>(dealt - to.uses.begin())] = *dealt;
  path.push_back(arrived);
  changeDimensions(arrived, to, path);
  return path;
}

}  // namespace tokamak
