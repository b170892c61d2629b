#include "graph/resharding_path.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "base/require.h"

namespace tokamak {

namespace {

bool isParts(const Spread& spread) { return spread.form == SpreadForm::Parts; }

// The part of the tensor that a rank has, or of its elements one has terms of.
double shareOf(const TensorSharding& sharding) {
  double share = 1;
  for (size_t d = 0; d < sharding.dimensions.size(); ++d)
    if (isParts(sharding.dimensions[d])) share /= static_cast<double>(sharding.mesh.shape[d]);
  return share;
}

// What a rank sends, as a part of the tensor.
double costOf(const TensorSharding& from, size_t dimension, const Spread& to) {
  const auto devices = static_cast<double>(from.mesh.shape[dimension]);
  const double others = (devices - 1) / devices;
  switch (from.dimensions[dimension].form) {
    case SpreadForm::Whole: return 0;
    case SpreadForm::Parts: return shareOf(from) * (isParts(to) ? others : devices - 1);
    case SpreadForm::Terms: return shareOf(from) * (isParts(to) ? others : 2 * others);
  }
  return 0;
}

// What the dimension may become next on its way: nothing where another dimension has parts of that axis now.
std::optional<Spread> nextSpread(const TensorSharding& from, size_t dimension, const Spread& to) {
  if (!isParts(to)) return to;
  const Spread& own = from.dimensions[dimension];
  if (isParts(own) && own.parts.axis == to.parts.axis) return Spread{};  // other parts of one axis
  for (size_t d = 0; d < from.dimensions.size(); ++d) {
    const Spread& other = from.dimensions[d];
    if (d != dimension && isParts(other) && other.parts.axis == to.parts.axis) return std::nullopt;
  }
  return to;
}

// On one mesh.
void changeDimensions(TensorSharding from, const TensorSharding& to, std::vector<TensorSharding>& path) {
  while (!(from == to)) {
    double least = std::numeric_limits<double>::infinity();
    std::pair<size_t, Spread> best;
    for (size_t d = 0; d < from.dimensions.size(); ++d) {
      if (from.dimensions[d] == to.dimensions[d]) continue;
      const auto next = nextSpread(from, d, to.dimensions[d]);
      if (next && costOf(from, d, *next) < least) {
        least = costOf(from, d, *next);
        best = {d, *next};
      }
    }
    // Dimensions that wait for one another's axes: one of them gives its axis up.
    if (least == std::numeric_limits<double>::infinity()) {
      const auto waiting = std::ranges::mismatch(from.dimensions, to.dimensions);
      best = {static_cast<size_t>(waiting.in1 - from.dimensions.begin()), Spread{}};
    }
    from.dimensions[best.first] = best.second;
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
Spread spreadOfLine(const TensorSharding& sharding) {
  const auto found = std::ranges::find_if_not(sharding.dimensions, &Spread::isWhole);
  return found == sharding.dimensions.end() ? Spread{} : *found;
}

// Whether each rank of one line sends its part to one rank of the other.
bool isMoveOfParts(const TensorSharding& from, const TensorSharding& to) {
  return isLine(from.mesh) && isLine(to.mesh) && isParts(spreadOfLine(from)) &&
         spreadOfLine(from) == spreadOfLine(to) && from.mesh.devices.size() == to.mesh.devices.size();
}

}  // namespace

bool canReshard(const TensorSharding& from, const TensorSharding& to) {
  for (size_t d = 0; d < to.dimensions.size(); ++d) {
    if (to.dimensions[d].form != SpreadForm::Terms) continue;
    if (!(from.mesh == to.mesh) || !(from.dimensions[d] == to.dimensions[d])) return false;
  }
  return true;
}

std::vector<TensorSharding> reshardingPath(const TensorSharding& from, const TensorSharding& to) {
  TK_CHECK(canReshard(from, to), "a path to terms that are not there");
  std::vector<TensorSharding> path;
  if (from.mesh == to.mesh) {
    changeDimensions(from, to, path);
    return path;
  }
  if (isMoveOfParts(from, to)) return {to};
  const bool has_ranks = hasRanksOf(from.mesh, to.mesh);
  const bool is_same_job = has_ranks && hasRanksOf(to.mesh, from.mesh);
  TensorSharding left = from;
  if (!from.isWhole() && (!isLine(from.mesh) || is_same_job)) {
    left = TensorSharding::wholeOn(from.mesh);
    changeDimensions(from, left, path);
  }
  TensorSharding arrived = TensorSharding::wholeOn(to.mesh);
  const auto dealt = std::ranges::find_if(to.dimensions, isParts);
  if (left.isWhole() && dealt != to.dimensions.end() && (has_ranks || isLine(to.mesh)))
    arrived.dimensions[static_cast<size_t>(dealt - to.dimensions.begin())] = *dealt;
  path.push_back(arrived);
  changeDimensions(arrived, to, path);
  return path;
}

}  // namespace tokamak
