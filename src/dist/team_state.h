// TeamState: what an engine keeps of a team in one epoch: a new epoch has a new one, so that its operations never meet
// those of another.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "dist/communication_error.h"
#include "dist/communication_request.h"

namespace tokamak {

/// Thread safety: any threads may use it side by side.
class TeamState {
 public:
  /// `timeout`: of each wait for others.
  TeamState(std::vector<int64_t> ranks, int64_t epoch, std::chrono::milliseconds timeout)
      : ranks_(std::move(ranks)), epoch_(epoch), timeout_(timeout) {}
  TeamState(const TeamState&) = delete;
  TeamState& operator=(const TeamState&) = delete;
  virtual ~TeamState() = default;

  std::span<const int64_t> ranks() const { return ranks_; }
  int64_t epoch() const { return epoch_; }
  std::chrono::milliseconds timeout() const { return timeout_; }

  /// The first breakage stays. All members learn of it.
  virtual void breakUp(Breakage breakage) noexcept = 0;
  virtual bool isBroken() const = 0;
  /// Errors: the CommunicationError of a broken team.
  virtual void requireWhole() const = 0;

 protected:
  /// Of a member in lists that have one entry per member.
  size_t positionIn(int64_t rank) const { return static_cast<size_t>(positionOf(ranks_, rank)); }

  const std::vector<int64_t> ranks_;
  const int64_t epoch_;
  const std::chrono::milliseconds timeout_;
};

}  // namespace tokamak
