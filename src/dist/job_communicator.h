// Communicator: what one rank of a job has of the others: their bytes, their life, and teams that communicate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/export.h"
#include "device/device.h"

namespace tokamak {

enum class CommunicatorBackend : uint8_t;  // ir/ops/host/communication.h
class OperationLog;
class TeamCommunicator;

/// One rank of a job, bound to the device that it computes on. When it is destroyed, the rank has left: others that
/// wait for it get an error. Its teams may outlive it.
/// Thread safety: any threads may use it side by side.
class TOKAMAK_EXPORT Communicator {
 public:
  Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  virtual ~Communicator();

  /// From 0 to size() - 1.
  virtual int64_t rank() const = 0;
  virtual int64_t size() const = 0;
  virtual const std::shared_ptr<Device>& device() const = 0;
  /// The engine, as the Communications of programs over it have it.
  virtual CommunicatorBackend backend() const = 0;

  /// Gives `bytes` to each of `ranks`, of which this one is, and returns what each of them gave, in the order of
  /// `ranks`. Each of them has to call it with the same tag and the same ranks, the n-th call of one meets the n-th
  /// calls of the others; of different tags or ranks the order is free. Blocks the calling thread; not for work of the
  /// device. Errors: Usage for ranks that are repeated, are not of the job, or lack this one; CommunicationError when
  /// one of them is gone, or does not come in time.
  virtual std::vector<std::vector<std::byte>> exchange(std::string_view tag, std::span<const int64_t> ranks,
                                                       std::span<const std::byte> bytes) = 0;
  /// Those of `ranks` that are not known to be gone. Never blocks. Errors: Usage for one that is not of the job.
  virtual std::vector<int64_t> alive(std::span<const int64_t> ranks) const = 0;
  /// The team of these ranks in this order, of which this one is. While the one that this rank had last is whole, it is
  /// that; else a new one, of the next epoch, the first being 0: each rank sees each breakage once, so that ranks which
  /// do the same after it are in the same epoch. Every member has to call it; may wait for the others to do so.
  /// Errors: Usage as exchange(); CommunicationError when a member is gone, or (where it waits) does not come in time.
  virtual std::shared_ptr<TeamCommunicator> team(std::span<const int64_t> ranks) = 0;
  /// The last operations of all teams of this rank. Null: nobody runs them.
  virtual std::shared_ptr<const OperationLog> operations() const { return nullptr; }
};

}  // namespace tokamak
