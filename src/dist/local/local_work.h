// LocalWork: one rank's part in communications between threads of one process.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dist/communication_operands.h"
#include "dist/communication_request.h"
#include "dist/local/local_job.h"
#include "dist/local/team_table.h"
#include "dist/operation_log.h"
#include "dist/part_moves.h"
#include "runtime/cpu/cpu_work.h"

namespace tokamak {

/// Operands: as TeamCommunicator::prepare() says. Waits for other ranks on the thread of its stream, asleep. It moves
/// what this rank gets: a rank only ever reads memory of others.
class LocalWork final : public CpuWork {
 public:
  /// Legal requests.
  LocalWork(std::shared_ptr<LocalJob> job, std::shared_ptr<TeamTable> table, int64_t rank,
            std::span<const CommunicationRequest> group);

  std::string_view name() const override { return name_; }
  int64_t hostBytes() const override;
  void run(void* const* addresses, BlockPool& pool) const override;
  void skip(const std::exception_ptr& cause) const noexcept override;
  void notePosted() const noexcept override { job_->logOf(rank_)->post(runs_); }

 private:
  struct Item {
    CommunicationRequest request;
    CommunicationOperands operands;
    Channel* channel = nullptr;
    size_t member = 0;  // of the channel
    int64_t group_size = 1;
    int64_t group_position = 0;
    PartReduction reduction = {};
  };
  class Running;

  void runAll(void* const* addresses, BlockPool& pool) const;
  void pass(OperationFaults& faults, OperationPoint point) const;
  void move(const Visit& visit, const Item& item, OperationFaults& faults, BlockPool& pool) const;
  void moveParts(const Visit& visit, const Item& item, OperationFaults& faults, BlockPool& pool) const;
  void copyFrom(const Visit& visit, const Item& item, size_t other, BlockPool& pool) const;
  void reducePart(const Visit& visit, const Item& item, void* out, int64_t offset, int64_t count,
                  BlockPool& pool) const;
  void allreduce(const Visit& visit, const Item& item, OperationFaults& faults, BlockPool& pool) const;
  /// "Allreduce 7 of team (0 1 2 3)": the first one of the group.
  std::string operation(int64_t number) const;
  void breakBecauseOf(const std::exception_ptr& error, int64_t number) const noexcept;

  const std::shared_ptr<LocalJob> job_;
  const std::shared_ptr<TeamTable> table_;
  const int64_t rank_;
  std::string name_;
  std::vector<Item> items_;
  mutable std::vector<Visit> visits_;       // one per item, of the run under way
  mutable std::vector<const void*> terms_;  // of a reduction, one per rank of the team
  mutable int64_t number_ = 0;              // of the first one of the group
  mutable OperationRuns runs_;
  mutable std::atomic<bool> is_running_ = false;
};

}  // namespace tokamak
