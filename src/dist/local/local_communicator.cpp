#include "dist/local/local_communicator.h"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/require.h"
#include "dist/job_end.h"
#include "dist/local/local_job.h"
#include "dist/local/local_work.h"

namespace tokamak {

namespace {

// One rank's view of what all share.
class LocalEnd final : public JobEnd {
 public:
  LocalEnd(std::shared_ptr<LocalJob> job, int64_t rank, std::shared_ptr<Device> device)
      : job_(std::move(job)), rank_(rank), device_(std::move(device)) {}

  int64_t rank() const override { return rank_; }
  int64_t size() const override { return job_->size(); }
  const std::shared_ptr<Device>& device() const override { return device_; }
  CommunicatorBackend backend() const override { return CommunicatorBackend::Local; }
  const std::shared_ptr<OperationLog>& log() const override { return job_->logOf(rank_); }
  std::vector<std::vector<std::byte>> exchange(std::string_view tag, std::span<const int64_t> ranks,
                                               std::span<const std::byte> bytes) override {
    return job_->exchange(rank_, tag, ranks, bytes);
  }
  std::vector<int64_t> alive(std::span<const int64_t> ranks) const override { return job_->alive(ranks); }
  std::shared_ptr<TeamState> stateOf(std::span<const int64_t> ranks, int64_t epoch) override {
    return job_->table(rank_, ranks, epoch);
  }
  std::shared_ptr<const Work> workOf(const std::shared_ptr<TeamState>& team,
                                     std::span<const CommunicationRequest> group) override {
    return std::make_shared<LocalWork>(job_, std::static_pointer_cast<TeamTable>(team), rank_, group);
  }
  void beginLeaving() override { job_->noteLeaving(rank_); }
  void endLeaving() override { job_->noteLeft(rank_); }

 private:
  const std::shared_ptr<LocalJob> job_;
  const int64_t rank_;
  const std::shared_ptr<Device> device_;
};

}  // namespace

std::vector<std::unique_ptr<Communicator>> makeLocalCommunicators(std::span<const std::shared_ptr<Device>> devices,
                                                                  const LocalOptions& options) {
  TK_REQUIRE(!devices.empty(), Usage, "local communicators: no devices were given; a job has a rank on each");
  TK_REQUIRE(options.timeout.count() > 0, Usage,
             "local communicators: a time-out of {} ms was asked for; it has to be positive", options.timeout.count());
  for (const auto& device : devices)
    TK_REQUIRE(device->properties().ordinal < 0, Unsupported,
               "local communicators: {} has memory of its own; they are for devices whose memory is the host's",
               device->properties().name);
  const auto job = std::make_shared<LocalJob>(static_cast<int64_t>(devices.size()), options);
  std::vector<std::unique_ptr<Communicator>> communicators;
  for (size_t rank = 0; rank < devices.size(); ++rank)
    communicators.push_back(
        communicatorOver(std::make_shared<LocalEnd>(job, static_cast<int64_t>(rank), devices[rank])));
  return communicators;
}

}  // namespace tokamak
