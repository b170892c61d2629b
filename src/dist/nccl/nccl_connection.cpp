#include "dist/nccl/nccl_connection.h"

#include <chrono>
#include <utility>

#include "base/require.h"

namespace tokamak {

NcclConnection::NcclConnection(const NcclLibrary& library, std::shared_ptr<DriverContext> context)
    : library_(library), context_(std::move(context)) {}

NcclConnection::~NcclConnection() { tearDown(); }

void NcclConnection::connect(const nccl::UniqueId& id, int64_t members, int64_t position, const Pulse& pulse) {
  const CurrentContext current(*context_);
  nccl::Config config;
  config.blocking = 0;
  const nccl::Result result =
      library_.init_rank(&communicator_, static_cast<int>(members), id, static_cast<int>(position), &config);
  finish(result, "connect", pulse);
}

void NcclConnection::finish(nccl::Result result, std::string_view operation, const Pulse& pulse) {
  while (result == nccl::kInProgress) {
    pulse();
    nccl::Result state = nccl::kSuccess;
    const nccl::Result asked = library_.async_error(communicator_, &state);
    result = asked == nccl::kSuccess ? state : asked;
  }
  if (result != nccl::kSuccess) fail(result, operation, pulse);
}

void NcclConnection::requireHealthy(const Pulse& pulse) {
  nccl::Result state = nccl::kSuccess;
  const nccl::Result asked = library_.async_error(communicator_, &state);
  const nccl::Result result = asked == nccl::kSuccess ? state : asked;
  if (result != nccl::kSuccess && result != nccl::kInProgress) fail(result, "communicate", pulse);
}

void NcclConnection::fail(nccl::Result result, std::string_view operation, const Pulse& pulse) {
  // That the network fails is what NCCL sees of a rank that is gone.
  const bool may_be_others = result == nccl::kRemoteError || result == nccl::kSystemError;
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(may_be_others ? 200 : 0);
  while (std::chrono::steady_clock::now() < until) pulse();
  const char* const details = library_.last_error(communicator_);
  TK_RAISE(Device, "NCCL cannot {}: {}{}{}", operation, library_.describe(result),
           details == nullptr || *details == 0 ? "" : ": ", details == nullptr ? "" : details);
}

void NcclConnection::tearDown() noexcept {
  if (communicator_ == nullptr) return;
  context_->quietly([&](const DriverLibrary&) { library_.abort_communicator(communicator_); });
  communicator_ = nullptr;
}

}  // namespace tokamak
