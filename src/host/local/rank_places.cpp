#include "host/local/rank_places.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "analysis/substitute.h"
#include "base/require.h"
#include "base/text.h"
#include "compute/element.h"
#include "host/local/rank_team.h"
#include "ir/clone.h"
#include "ir/ops/host/hir_alias_select.h"
#include "ir/ops/host/hir_alias_slice.h"
#include "ir/ops/host/post_on_stream.h"
#include "symbolic/scalar.h"

namespace tokamak {

namespace {

// What others give is not read then.
bool isGivenByRootAlone(CommunicationType type) {
  return type == CommunicationType::Scatter || type == CommunicationType::Broadcast ||
         type == CommunicationType::SendRecv;
}

}  // namespace

RankPlaces::RankPlaces(const HostIrContainer& program, Scalar* rank) : program_(program), rank_(rank) {
  if (rank_ == nullptr) return;
  // (Twice: an iteration may read what the one before it has written.)
  for (int i = 0; i < 2; ++i) forEachStatement(program.topLevel(), [this](const Expr& expr) { add(expr); });
}

void RankPlaces::add(const Expr& expr) {
  if (const auto* op = expr.as<HirAliasSelect>()) return addView(op->out, op->in, {op->index});
  if (const auto* op = expr.as<HirAliasSlice>()) return addView(op->out, op->in, {op->start, op->stop});
  if (expr.list() == OpList::Math || expr.is<PostOnStream>()) addResults(expr);
}

void RankPlaces::addView(const TensorView* out, const TensorView* in, std::vector<Scalar*> bounds) {
  source_of_[named(out)] = named(in);
  std::erase_if(bounds, [this](const Scalar* bound) { return !mentions(*bound, *rank_); });
  if (!bounds.empty()) is_placed_[named(out)] = true;
  insert(out, bounds);
  insert(out, placesOf(in));
}

void RankPlaces::addResults(const Expr& expr) {
  Places read;
  for (const TensorView* operand : tensorsOf(expr.inputs())) {
    const Places& places = placesOf(operand);
    read.insert(read.end(), places.begin(), places.end());
  }
  if (read.empty()) return;
  for (const TensorView* result : tensorsOf(expr.outputs())) {
    const TensorView* tensor = named(result);
    while (!is_placed_.contains(tensor)) {
      insert(tensor, read);
      const auto source = source_of_.find(tensor);
      if (source == source_of_.end()) break;
      tensor = source->second;
    }
  }
}

void RankPlaces::insert(const TensorView* tensor, const Places& places) {
  if (places.empty()) return;
  Places& own = places_[named(tensor)];
  if (&own == &places) return;
  for (Scalar* place : places)
    if (std::ranges::find(own, place) == own.end()) own.push_back(place);
}

const RankPlaces::Places& RankPlaces::placesOf(const TensorView* tensor) const {
  static const Places none;
  const auto known = places_.find(named(tensor));
  return known == places_.end() ? none : known->second;
}

const TensorView* RankPlaces::named(const TensorView* tensor) const {
  return program_.resolveAlias(const_cast<TensorView*>(tensor));
}

void RankPlaces::requireSamePart(const Communication& op) const {
  if (op.in == nullptr || isGivenByRootAlone(op.type)) return;
  const Places& places = placesOf(op.in);
  if (places.empty()) return;
  Fusion scalars("places");
  Cloner cloner(scalars);
  std::set<int64_t> members(op.in->mesh().devices.begin(), op.in->mesh().devices.end());
  members.insert(op.team.begin(), op.team.end());
  for (Scalar* place : places) {
    Scalar* const own = cloner.clone(place);
    const Scalar* const rank = cloner.clone(rank_);
    const auto placeOn = [&](int64_t number) {
      Substitution at(scalars);
      at.set(*rank, scalars.constant(number));
      return at(own);
    };
    for (const int64_t member : members) {
      const std::vector<int64_t> team = teamOfRank(op, member);
      if (std::ranges::find(team, member) == team.end()) continue;
      const Scalar* const first = placeOn(team[0]);
      const Scalar* const other = placeOn(member);
      TK_REQUIRE(first == other, HostProgram,
                 "local program: {}: of {} rank {} gives the part at {}, and rank {} that at {}: its place is computed "
                 "of the rank, and all ranks of the team ({}) have to give the same part; compute the place of the "
                 "loop's index alone, or send the parts from rank to rank",
                 enumName(op.type), nameOf(*op.in), team[0], toString(*first), member, toString(*other),
                 joined(team, " "));
    }
  }
}

}  // namespace tokamak
