#include "dist/unconnected_communicator.h"

#include <utility>

#include "base/require.h"
#include "base/text.h"

namespace tokamak {

// Nothing is launched on it; its address tells it from others.
struct UnconnectedCommunicator::OwnStream final : Stream {};

class UnconnectedCommunicator::Described final : public Work {
 public:
  explicit Described(Group group) : group_(std::move(group)) {}
  const Group& group() const { return group_; }

 private:
  Group group_;
};

class UnconnectedCommunicator::Team final : public TeamCommunicator {
 public:
  Team(UnconnectedCommunicator& owner, std::vector<int64_t> ranks) : owner_(owner), ranks_(std::move(ranks)) {}

  std::span<const int64_t> ranks() const override { return ranks_; }
  int64_t rank() const override { return owner_.rank(); }
  int64_t epoch() const override { return 0; }

  std::shared_ptr<const Work> prepare(std::span<const CommunicationRequest> group) override {
    for (const CommunicationRequest& request : group) requireLegal(request, ranks_, rank());
    return owner_.describe({.team = ranks_, .requests = {group.begin(), group.end()}});
  }

  Stream& stream() override { return stream_; }

  Stream& stream(P2pType type, int64_t peer) override {
    TK_REQUIRE(peer != rank() && positionOf(ranks_, peer) >= 0, Usage,
               "team ({}): rank {} has no stream to {} rank {}; it takes another rank of the team", joined(ranks_, " "),
               rank(), enumName(type), peer);
    const std::lock_guard lock(owner_.mutex_);
    return streams_[{type, peer}];
  }

  void leave(const std::exception_ptr& /*error*/) override {}
  void requireWhole() const override {}

 private:
  UnconnectedCommunicator& owner_;
  const std::vector<int64_t> ranks_;
  OwnStream stream_;
  std::map<std::pair<P2pType, int64_t>, OwnStream> streams_;
};

UnconnectedCommunicator::UnconnectedCommunicator(int64_t rank, int64_t size) : rank_(rank), size_(size) {
  TK_REQUIRE(0 <= rank && rank < size, Usage, "rank {} of a job of {} rank(s); ranks are 0 to {}", rank, size,
             size - 1);
}

const UnconnectedCommunicator::Group* UnconnectedCommunicator::groupOf(const Work& work) const {
  const std::lock_guard lock(mutex_);
  const auto found = works_.find(&work);
  return found == works_.end() ? nullptr : &found->second->group();
}

std::shared_ptr<const Work> UnconnectedCommunicator::describe(Group group) {
  auto work = std::make_shared<const Described>(std::move(group));
  const std::lock_guard lock(mutex_);
  works_.emplace(work.get(), work);
  return work;
}

std::vector<std::vector<std::byte>> UnconnectedCommunicator::exchange(std::string_view tag,
                                                                      std::span<const int64_t> /*ranks*/,
                                                                      std::span<const std::byte> /*bytes*/) {
  TK_RAISE(Unsupported, "exchange \"{}\": rank {} is not connected to others; it is there to check programs", tag,
           rank_);
}

std::vector<int64_t> UnconnectedCommunicator::alive(std::span<const int64_t> ranks) const {
  requireRanks({.ranks = ranks, .own = rank_, .job_size = size_, .needs_own = false}, "alive");
  return {ranks.begin(), ranks.end()};
}

std::shared_ptr<TeamCommunicator> UnconnectedCommunicator::team(std::span<const int64_t> ranks) {
  requireRanks({.ranks = ranks, .own = rank_, .job_size = size_}, "team");
  const std::lock_guard lock(mutex_);
  std::shared_ptr<TeamCommunicator>& team = teams_[{ranks.begin(), ranks.end()}];
  if (team == nullptr) team = std::make_shared<Team>(*this, std::vector<int64_t>(ranks.begin(), ranks.end()));
  return team;
}

}  // namespace tokamak
