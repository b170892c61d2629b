// MpiWork: one rank's part in communications between processes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dist/communication_operands.h"
#include "dist/communication_request.h"
#include "dist/mpi/mpi_job.h"
#include "dist/mpi/mpi_team_table.h"
#include "dist/mpi/mpi_transfers.h"
#include "dist/operation_log.h"
#include "dist/part_moves.h"
#include "runtime/cpu/cpu_work.h"

namespace tokamak {

/// Operands: as TeamCommunicator::prepare() says. Waits for other ranks on the thread of its stream. It ends when MPI
/// touches none of its memory any more, also where it fails.
class MpiWork final : public CpuWork {
 public:
  /// Legal requests.
  MpiWork(std::shared_ptr<MpiJob> job, std::shared_ptr<MpiTeamTable> table,
          std::span<const CommunicationRequest> group);

  std::string_view name() const override { return name_; }
  int64_t hostBytes() const override;
  void run(void* const* addresses, BlockPool& pool) const override;
  void skip(const std::exception_ptr& cause) const noexcept override;
  void notePosted() const noexcept override { job_->log()->post(runs_); }

 private:
  using Lock = std::unique_lock<std::mutex>;

  // Requests of some of an item's transfers; 0: over, or not begun.
  struct Requests {
    std::vector<uint64_t> open;
    std::vector<uint8_t> is_called_off;
  };
  struct Item {
    CommunicationRequest request;
    CommunicationOperands operands;
    Transfers transfers;
    MpiChannel* channel = nullptr;
    size_t member = 0;  // of the channel
    int64_t group_size = 1;
    int64_t group_position = 0;
    PartReduction reduction = {};
  };
  // Of the run under way.
  struct Visit {
    int64_t number = -1;  // it has not arrived
    std::byte* input = nullptr;
    std::byte* output = nullptr;
    MpiTeamTable::Scratch scratch;
    Requests sends;
    Requests receives;
    Requests result_sends;
    Requests result_receives;
    std::vector<const void*> terms;
  };
  class Running;

  void runAll(void* const* addresses, BlockPool& pool) const;
  void arrive(size_t item, void* input, void* output) const;
  void tellOthers() const;
  void waitForAll(Lock& lock) const;
  void copyOwn(size_t item, BlockPool& pool) const;
  void reduce(size_t item, Lock& lock, BlockPool& pool) const;
  void waitForEnd(Lock& lock) const;
  /// Whether the first ones are over; -1: they are, else the position of the member that one waits for.
  int64_t awaited(Requests& requests, std::span<const Transfer> transfers, size_t begin, size_t end) const;
  int64_t awaitedAtEnd(size_t item) const;
  void startReceives(Requests& requests, std::span<const Transfer> transfers, const Visit& visit, int64_t tag) const;
  void startSends(size_t item, Requests& requests, std::span<const Transfer> transfers, size_t begin, size_t end,
                  int64_t tag_offset) const;
  static std::byte* at(const Visit& visit, TransferMemory memory, int64_t offset);
  void raiseLate(size_t item, int64_t position) const;
  /// After a failure: until MPI has let go of all memory.
  void getOut(Lock& lock) const;
  bool isOut(size_t item) const;
  bool letGo(Requests& requests, std::span<const Transfer> transfers, bool are_receives) const;
  void breakBecauseOf(const std::exception_ptr& error, int64_t number) const;
  std::string operation(int64_t number) const;

  const std::shared_ptr<MpiJob> job_;
  const std::shared_ptr<MpiTeamTable> table_;
  MpiWorld& world_;
  std::string name_;
  std::vector<Item> items_;
  mutable std::vector<Visit> visits_;  // one per item
  mutable OperationRuns runs_;
  mutable std::atomic<bool> is_running_ = false;
};

}  // namespace tokamak
