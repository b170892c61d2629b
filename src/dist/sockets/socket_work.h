// SocketWork: one rank's part in communications between GPUs whose ranks talk over sockets: its operations, its events,
// its entries in the log, and how it ends after an error.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/require.h"
#include "base/spin_lock.h"
#include "dist/communication_error.h"
#include "dist/communication_request.h"
#include "dist/operation_log.h"
#include "dist/sockets/socket_team.h"
#include "runtime/cuda/cuda_host_work.h"

namespace tokamak {

using WorkClock = std::chrono::steady_clock;

inline bool isOver(const DriverLibrary& driver, driver::Event event) {
  return driver.event_query(event) != driver::kNotReady;
}

/// How a thread waits for a GPU: short waits are spun through; long ones cost little.
class WorkPause {
 public:
  void operator()() {
    constexpr int64_t kSpins = 200;
    if (++pauses_ < kSpins) return spinPause();
    std::this_thread::sleep_for(std::chrono::microseconds(std::min<int64_t>(20 + (pauses_ - kSpins) / 8, 200)));
  }

 private:
  int64_t pauses_ = 0;
};

/// When a work gives up whose team breaks: others may be at their next operation when they break it, and this one be
/// over all the same.
class BreakageGrace {
 public:
  /// `is_under_way`: all that the work needs of others may be on its way.
  bool isOver(bool is_under_way) {
    if (!broken_at_) broken_at_ = WorkClock::now();
    return WorkClock::now() >= *broken_at_ + (is_under_way ? kGrace : std::chrono::milliseconds(0));
  }

 private:
  static constexpr std::chrono::milliseconds kGrace{50};
  std::optional<WorkClock::time_point> broken_at_ = {};
};

/// An engine's SocketJob, its SocketTeamTable, and what that takes as a run.
/// After an error a work stays until no rank that lives reads memory of another one any more, but no longer than a
/// second.
template <class Job, class Table, class Run>
class SocketWork : public CudaHostWork {
 public:
  ~SocketWork() override {
    job_->context()->quietly([&](const DriverLibrary& driver) {
      for (const driver::Event event : {ready_, over_})
        if (event != nullptr) driver.event_destroy(event);
    });
  }

  std::string_view name() const override { return name_; }
  void notePosted() const noexcept override { job_->log()->post(runs_); }

  void skip(const std::exception_ptr& cause) const noexcept override {
    breakBecauseOf(cause);
    job_->log()->fail(runs_, cause);
  }

  void run(DriverContext& context, driver::Stream stream, std::span<void* const> addresses) const override {
    TK_REQUIRE(!is_running_.exchange(true), Usage,
               "{}: the work runs already, on another stream; it belongs to one stream of its team", name_);
    for (auto& item : run_.items) item.number = -1;
    try {
      runAll(context, stream, addresses);
    } catch (const CommunicationError&) {  // the team's
      abandon(context, stream);
      throw;
    } catch (...) {
      breakBecauseOf(std::current_exception());
      abandon(context, stream);
      throw;
    }
    table_->end(run_);
    job_->log()->end(runs_);
    is_running_.store(false);
  }

 protected:
  /// Legal requests. Errors: Device.
  SocketWork(std::shared_ptr<Job> job, std::shared_ptr<Table> table, std::span<const CommunicationRequest> group)
      : job_(std::move(job)), table_(std::move(table)), name_(describe(group[0])) {
    if (group.size() > 1) name_ += fmt::format(" and {} more", group.size() - 1);
    addItems(group);
    runs_ = job_->log()->runsOf(group, table_->ranks(), table_->epoch());
    DriverContext& context = *job_->context();
    const CurrentContext current(context);
    for (driver::Event* const event : {&ready_, &over_})
      context.check(context.driver().event_create(event, driver::kEventDisableTiming), "{}: making an event", name_);
  }

  /// Gives the GPU all work, and returns when it is over. Errors: as run().
  virtual void runAll(DriverContext& context, driver::Stream stream, std::span<void* const> addresses) const = 0;
  /// Ends what the GPU waits for, after an error.
  virtual void stop() const noexcept = 0;

  const std::shared_ptr<Job> job_;
  const std::shared_ptr<Table> table_;
  std::string name_;
  mutable driver::Event ready_ = nullptr;  // what stands before the work
  mutable driver::Event over_ = nullptr;
  mutable Run run_;             // an item per request
  mutable OperationRuns runs_;  // as the log has them

 private:
  void addItems(std::span<const CommunicationRequest> group) {
    const int64_t rank = table_->rank();
    const int64_t collectives =
        std::ssize(group) - std::ranges::count_if(group, isPointToPoint, &CommunicationRequest::kind);
    int64_t position = 0;
    for (const CommunicationRequest& request : group) {
      auto& item = run_.items.emplace_back();
      SocketArrival arrival = {.request = request, .is_grouped = group.size() > 1};
      if (request.kind == CommunicationKind::Send) {
        item.channel = &table_->transfers(rank, request.send_to);
      } else if (request.kind == CommunicationKind::Recv) {
        item.channel = &table_->transfers(request.receive_from, rank);
      } else {
        item.channel = &table_->collectives();
        arrival.group_size = collectives;
        arrival.group_position = position++;
      }
      item.arrival = std::make_shared<const SocketArrival>(std::move(arrival));
    }
  }

  void breakBecauseOf(const std::exception_ptr& error) const noexcept {
    const auto& first = run_.items[0];
    const bool has_begun = is_running_.load() && first.number >= 0;
    const std::string name = table_->nameOf(*first.channel, first.arrival->request.kind,
                                            has_begun ? std::optional<int64_t>(first.number) : std::nullopt);
    table_->breakUp({CommunicationFault::Failed, table_->rank(),
                     fmt::format("rank {} cannot take part in {}: {}", table_->rank(), name, textOf(error))});
  }

  // The GPU's waits end, and then the others'.
  void abandon(DriverContext& context, driver::Stream stream) const noexcept {
    constexpr std::chrono::milliseconds kLongest{1000};  // for the GPU, and for ranks to go
    job_->log()->fail(runs_, std::current_exception());
    stop();
    const DriverLibrary& driver = context.driver();
    if (driver.event_record(over_, stream) == driver::kSuccess) {
      const auto until = WorkClock::now() + kLongest;
      while (!isOver(driver, over_) && WorkClock::now() < until)
        std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    if (run_.items[0].number >= 0) {
      table_->end(run_);
      table_->waitForOthers(kLongest);
    }
    is_running_.store(false);
  }

  mutable std::atomic<bool> is_running_ = false;
};

}  // namespace tokamak
