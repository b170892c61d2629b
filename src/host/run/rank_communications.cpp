#include "host/run/rank_communications.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/require.h"
#include "base/text.h"
#include "dist/communication_error.h"
#include "ir/ops/host/collective_permute.h"
#include "ir/ops/host/communication.h"
#include "ir/ops/host/p2p_communication.h"

namespace tokamak {

namespace {

void addList(std::vector<int64_t>& key, std::span<const int64_t> list) {
  key.push_back(static_cast<int64_t>(list.size()));
  key.insert(key.end(), list.begin(), list.end());
}

std::vector<int64_t> keyOf(std::span<const RankRequest> requests) {
  std::vector<int64_t> key;
  for (const RankRequest& posted : requests) {
    const CommunicationRequest& request = posted.request;
    key.insert(key.end(),
               {static_cast<int64_t>(request.kind), static_cast<int64_t>(request.dtype),
                static_cast<int64_t>(request.reduction), request.root, request.send_to, request.receive_from});
    addList(key, request.counts);
    addList(key, request.received);
  }
  return key;
}

}  // namespace

bool hasCommunications(const HostIrContainer& program) {
  bool has_any = program.rankOrigin() != nullptr && program.rankOrigin()->communicates;
  forEachStatement(program.topLevel(), [&](const Expr& expr) { has_any = has_any || expr.info().is_communication; });
  return has_any;
}

RankCommunications::RankCommunications(const HostIrContainer& program, Communicator& communicator)
    : communicator_(communicator), all_ranks_(static_cast<size_t>(communicator.size())) {
  std::iota(all_ranks_.begin(), all_ranks_.end(), int64_t{0});
  const RankOrigin* origin = program.rankOrigin();
  if (origin != nullptr) program_ = origin->text_hash;
  if (origin != nullptr && origin->communicates && std::ranges::find(origin->ranks, rank()) != origin->ranks.end())
    program_team_ = form(origin->ranks);
  forEachStatement(program.topLevel(), [&](const Expr& expr) {
    if (const auto* op = expr.as<Communication>()) form(op->team);
    if (const auto* op = expr.as<CollectivePermute>()) form(op->team);
    if (expr.is<P2pCommunication>()) form(all_ranks_);
  });
}

const std::shared_ptr<TeamCommunicator>& RankCommunications::form(const std::vector<int64_t>& ranks) {
  std::shared_ptr<TeamCommunicator>& team = teams_[ranks];
  if (team == nullptr) team = communicator_.team(ranks);
  return team;
}

TeamCommunicator& RankCommunications::teamOf(const RankRequest& request) {
  return *teams_.at(request.team.empty() ? all_ranks_ : request.team);
}

RankCommunications::Prepared RankCommunications::prepare(std::span<const RankRequest> requests, Posted posted) {
  TeamCommunicator& team = teamOf(requests[0]);
  std::vector<CommunicationRequest> group;
  for (const RankRequest& request : requests) {
    const TeamCommunicator& other = request.team == requests[0].team ? team : teamOf(request);
    TK_REQUIRE(&other == &team, HostProgram,
               "EndCoalescing: what is posted as one is of the teams ({}) and ({}); it has to be of one team",
               joined(team.ranks(), " "), joined(other.ranks(), " "));
    group.push_back(request.request);
    group.back().program = program_;
  }
  Stream& stream = posted == Posted::InGroup ? team.stream() : team.streamOf(group[0]);
  const std::lock_guard lock(mutex_);
  std::vector<int64_t> key = keyOf(requests);
  key.push_back(static_cast<int64_t>(posted));
  std::shared_ptr<const Work>& work = works_[{&team, std::move(key)}];
  if (work == nullptr) work = team.prepare(group);
  return {.work = work, .stream = &stream};
}

void RankCommunications::requireWhole() const {
  for (const auto& [ranks, team] : teams_) team->requireWhole();
}

bool RankCommunications::isWhole() const {
  try {
    requireWhole();
    return true;
  } catch (const CommunicationError&) {
    return false;
  }
}

void RankCommunications::leave(const std::exception_ptr& error) const {
  for (const auto& [ranks, team] : teams_) team->leave(error);
}

size_t RankCommunications::works() const {
  const std::lock_guard lock(mutex_);
  return works_.size();
}

}  // namespace tokamak
