// NcclConnection: one of NCCL's communicators, non-blocking, on a rank's device.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "dist/nccl/nccl_library.h"
#include "runtime/cuda/driver_context.h"

namespace tokamak {

/// No call of it waits for other ranks, but those that are given a `pulse`: it is called again and again, and ends the
/// wait by what it raises.
/// Thread safety: one thread at a time.
class NcclConnection {
 public:
  using Pulse = std::function<void()>;

  /// Begins to connect as member `position` of so many.
  NcclConnection(const NcclLibrary& library, std::shared_ptr<DriverContext> context);
  NcclConnection(const NcclConnection&) = delete;
  NcclConnection& operator=(const NcclConnection&) = delete;
  /// Aborts.
  ~NcclConnection();

  /// Returns when all members have connected. Errors: Device with NCCL's words; of the pulse.
  void connect(const nccl::UniqueId& id, int64_t members, int64_t position, const Pulse& pulse);
  nccl::Communicator handle() const { return communicator_; }
  /// Returns when what NCCL was told is in the streams, where `result` says that it is not yet.
  /// Errors: Device, with what was asked for and NCCL's words; of the pulse.
  void finish(nccl::Result result, std::string_view operation, const Pulse& pulse);
  /// What went wrong since: raises it, once another rank's death had time to be told, which says more. Errors: Device;
  /// of the pulse.
  void requireHealthy(const Pulse& pulse);
  /// Ends whatever runs, and lets go of all. Its streams go on. To be called by whom finish() and requireHealthy() are.
  void tearDown() noexcept;

 private:
  [[noreturn]] void fail(nccl::Result result, std::string_view operation, const Pulse& pulse);

  const NcclLibrary& library_;
  const std::shared_ptr<DriverContext> context_;
  nccl::Communicator communicator_ = nullptr;
};

}  // namespace tokamak
