// ModelDevice: a device that runs nothing: its works say what they would have to do.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "device/planning_device.h"
#include "device/work.h"
#include "dist/communicator.h"
#include "ir/ops/host/communication.h"

namespace tokamak {

/// A kernel, or communications. What a kernel moves is Work::operandBytes().
struct ModelWork final : Work {
  double products = 0;                    ///< operations of matrix products (analysis/op_counts.h)
  DataType product_type = DataType::F32;  ///< of their operands
  double functions = 0;                   ///< all other operations
  /// What the rank takes part in as one work; none: it is a kernel.
  std::vector<CommunicationRequest> group = {};
  std::shared_ptr<const std::vector<int64_t>> team = {};  ///< whose communications these are
};

/// A segment is one work, and a product group, too, as on a GPU.
/// Thread safety: one thread at a time.
class ModelDevice final : public PlanningDevice {
 public:
  ModelDevice();

  /// A ModelWork, as all works here. Of a LaunchKernel, whose arithmetic nobody counts, it has none.
  /// Errors: Bind where a size is unknown.
  std::shared_ptr<const Work> prepare(const WorkRequest& request) override;
};

/// One rank of a job that does not exist: its works are ModelWorks. Teams are formed at once, and never break;
/// nothing is exchanged.
/// Thread safety: one thread at a time.
class ModelCommunicator final : public Communicator {
 public:
  ModelCommunicator(int64_t rank, int64_t size, std::shared_ptr<Device> device)
      : rank_(rank), size_(size), device_(std::move(device)) {}

  int64_t rank() const override { return rank_; }
  int64_t size() const override { return size_; }
  const std::shared_ptr<Device>& device() const override { return device_; }
  CommunicatorBackend backend() const override { return CommunicatorBackend::Local; }
  /// Errors: Unsupported.
  std::vector<std::vector<std::byte>> exchange(std::string_view tag, std::span<const int64_t> ranks,
                                               std::span<const std::byte> bytes) override;
  std::vector<int64_t> alive(std::span<const int64_t> ranks) const override { return {ranks.begin(), ranks.end()}; }
  std::shared_ptr<TeamCommunicator> team(std::span<const int64_t> ranks) override;

 private:
  int64_t rank_;
  int64_t size_;
  std::shared_ptr<Device> device_;
};

}  // namespace tokamak
