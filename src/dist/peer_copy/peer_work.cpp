#include "dist/peer_copy/peer_work.h"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/require.h"
#include "base/spin_lock.h"

namespace tokamak {

namespace {

constexpr std::chrono::microseconds kLongestNap{500};  // between looks at the GPU while others are awaited
constexpr int64_t kChunkBytes = int64_t{16} << 20;     // of each term

void* at(void* begin, int64_t elements, int64_t size) {
  return begin == nullptr ? nullptr : static_cast<std::byte*>(begin) + elements * size;
}

}  // namespace

// What the stream's thread does while it waits.
class PeerWork::Watch {
 public:
  Watch(const PeerWork& work, DriverContext& context) : work_(work), context_(context) {}

  /// Errors: CommunicationError of a team that is broken meanwhile; Device for a GPU that fails.
  void pulse() {
    PeerTeamTable& table = *work_.table_;
    if (table.isBroken()) {
      if (table.isConcerned(work_.run_) && grace_.isOver(have_all_arrived_)) table.requireWhole();
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    const driver::Result status = context_.driver().event_query(work_.ready_);  // an error also of later work
    if (status == driver::kNotReady) return;
    context_.check(status, "{}: waiting in {}", context_.name(), work_.name_);
    if (!std::exchange(is_reached_, true)) since_ = WorkClock::now();
    if (WorkClock::now() - since_ > table.timeout()) table.breakBecauseOfTime(work_.run_, findMissing());
  }

  void noteAllArrived() { have_all_arrived_ = true; }

 private:
  std::optional<PeerTeamTable::Missing> findMissing() const {
    for (const Awaited& awaited : work_.awaited_) {
      const std::optional<uint64_t> seen = work_.job_->flags().read(awaited.flag);
      if (!seen) return {};
      if (*seen < awaited.value) return awaited.what;
    }
    return {};
  }

  const PeerWork& work_;
  DriverContext& context_;
  WorkClock::time_point since_ = WorkClock::now();
  BreakageGrace grace_;
  bool is_reached_ = false;
  bool have_all_arrived_ = false;
};

// What a run gives its GPU.
class PeerWork::Issue {
 public:
  Issue(const PeerWork& work, DriverContext& context, driver::Stream stream, std::span<void* const> addresses)
      : work_(work), table_(*work.table_), context_(context), stream_(stream), addresses_(addresses) {}

  /// That this rank's memory can be read, to those whose flags are known already.
  void announceReady() {
    for (PeerRun::Item& item : work_.run_.items) {
      const auto isKnown = [&](size_t reader) { return table_.findFlagsOf(*item.channel, reader).has_value(); };
      if (!std::ranges::all_of(item.readers, isKnown)) continue;
      writeFlags(item, PeerFlag::Ready);
      item.is_ready_told = true;
    }
  }

  /// To all others, which have come.
  void completeReady() {
    for (PeerRun::Item& item : work_.run_.items)
      if (!item.is_ready_told) writeAndTell(item, PeerFlag::Ready);
  }

  /// Reads what others have made ready.
  void read() {
    for (size_t i = 0; i < work_.plans_.size(); ++i) {
      const PeerRun::Item& item = work_.run_.items[i];
      waitFor(i, PeerFlag::Ready);
      copyPieces(i);
      if (work_.plans_[i].reads.terms_count > 0) reduce(i);
      if (needsResults(i))
        writeAndTell(item, PeerFlag::Reduced);
      else
        writeAndTell(item, PeerFlag::Done);
    }
  }

  /// Of an Allreduce: the other parts of the result.
  void readResults() {
    for (size_t i = 0; i < work_.plans_.size(); ++i) {
      if (!needsResults(i)) continue;
      const PeerRun::Item& item = work_.run_.items[i];
      const std::vector<int64_t>& offsets = work_.plans_[i].operands.offsets;
      waitFor(i, PeerFlag::Reduced);
      for (const size_t owner : item.owners) {
        const int64_t begin = offsets[owner];
        if (offsets[owner + 1] > begin)
          copy(at(output(i), begin, sizeAt(i)), at(reach(item, owner, false), begin, sizeAt(i)),
               offsets[owner + 1] - begin, sizeAt(i));
      }
      writeAndTell(item, PeerFlag::Done);
    }
  }

  /// Until others have read this rank's memory.
  void waitForReaders() {
    for (size_t i = 0; i < work_.plans_.size(); ++i) waitFor(i, PeerFlag::Done);
  }

 private:
  const CommunicationRequest& requestAt(size_t i) const { return work_.run_.items[i].arrival->request; }
  int64_t sizeAt(size_t i) const { return sizeOf(requestAt(i).dtype); }
  void* input(size_t i) const { return addresses_[2 * i]; }
  void* output(size_t i) const { return addresses_[2 * i + 1]; }
  bool needsResults(size_t i) const {
    return requestAt(i).kind == CommunicationKind::Allreduce && !work_.run_.items[i].owners.empty();
  }

  void* reach(const PeerRun::Item& item, size_t member, bool is_input) const {
    const PeerChannel::Visit visit = table_.visitOf(item, member);
    return work_.job_->memory().reach(item.channel->members[member], is_input ? visit.input : visit.output);
  }

  // Those who await the flag: who reads what is ready, and whose memory was read.
  static std::span<const size_t> receiversOf(const PeerRun::Item& item, PeerFlag flag) {
    return flag == PeerFlag::Done ? item.owners : item.readers;
  }

  void writeFlags(const PeerRun::Item& item, PeerFlag flag) {
    for (const size_t member : receiversOf(item, flag)) {
      const std::optional<PeerAddress> flags = table_.findFlagsOf(*item.channel, member);
      auto* const begin = static_cast<uint64_t*>(work_.job_->memory().reach(item.channel->members[member], *flags));
      context_.check(
          context_.driver().stream_write_value(stream_, addressOf(begin + indexOf(item.member, flag)),
                                               static_cast<uint64_t>(item.number) + 1, driver::kWriteDefault),
          "{}: {}: writing a flag of rank {}", context_.name(), work_.name_, item.channel->members[member]);
    }
  }

  void writeAndTell(const PeerRun::Item& item, PeerFlag flag) {
    writeFlags(item, flag);
    table_.tellFlag(item, flag, receiversOf(item, flag));
  }

  void waitFor(size_t i, PeerFlag flag) {
    const PeerRun::Item& item = work_.run_.items[i];
    for (const size_t member : item.awaited(flag)) {
      const Awaited awaited = {.flag = addressOf(item.channel->flags + indexOf(member, flag)),
                               .value = static_cast<uint64_t>(item.number) + 1,
                               .what = {.item = i, .member = member, .flag = flag}};
      work_.awaited_.push_back(awaited);
      context_.check(
          context_.driver().stream_wait_value(stream_, awaited.flag, awaited.value, driver::kWaitGreaterOrEqual),
          "{}: {}: waiting for a flag", context_.name(), work_.name_);
    }
  }

  static size_t indexOf(size_t member, PeerFlag flag) { return kPeerFlags * member + static_cast<size_t>(flag); }

  void copy(void* to, const void* from, int64_t count, int64_t size) {
    if (to == from || to == nullptr || count == 0) return;  // (a root that does without an output)
    context_.check(
        context_.driver().copy_async(addressOf(to), addressOf(from), static_cast<size_t>(count * size), stream_),
        "{}: {}: copying {} bytes", context_.name(), work_.name_, count * size);
  }

  void copyPieces(size_t i) {
    const PeerRun::Item& item = work_.run_.items[i];
    for (const PeerPiece& piece : work_.plans_[i].reads.pieces) {
      int64_t from = piece.from;
      if (requestAt(i).kind == CommunicationKind::AllToAll)
        from = sentBefore(table_.visitOf(item, piece.member).arrival->request, item.member);
      void* const begin = piece.member == item.member ? input(i) : reach(item, piece.member, true);
      copy(at(output(i), piece.to, sizeAt(i)), at(begin, from, sizeAt(i)), piece.count, sizeAt(i));
    }
  }

  // A chunk of all terms at a time.
  void reduce(size_t i) {
    const PeerRun::Item& item = work_.run_.items[i];
    const Plan& plan = work_.plans_[i];
    const int64_t size = sizeAt(i);
    void* const scratch = work_.scratch_->on(stream_, work_.name_);
    std::vector<size_t> others = item.owners;
    std::ranges::sort(others);
    const bool has_offset = requestAt(i).kind == CommunicationKind::Allreduce;  // of the part in the output
    for (int64_t begin = 0; begin < plan.reads.terms_count; begin += plan.chunk) {
      const int64_t count = std::min(plan.chunk, plan.reads.terms_count - begin);
      const int64_t from = plan.reads.terms_begin + begin;
      for (size_t slot = 0; slot < others.size(); ++slot)
        copy(at(scratch, static_cast<int64_t>(slot) * plan.chunk, size),
             at(reach(item, others[slot], true), from, size), count, size);
      const std::array<void*, 4> operands = {scratch, at(input(i), from, size),
                                             at(output(i), has_offset ? from : begin, size),
                                             std::bit_cast<void*>(count)};
      plan.reduction->enqueue(context_, stream_, operands);
    }
  }

  const PeerWork& work_;
  PeerTeamTable& table_;
  DriverContext& context_;
  const driver::Stream stream_;
  const std::span<void* const> addresses_;
};

PeerWork::PeerWork(std::shared_ptr<PeerJob> job, std::shared_ptr<PeerTeamTable> table,
                   std::span<const CommunicationRequest> group)
    : SocketWork(std::move(job), std::move(table), group) {
  for (PeerRun::Item& item : run_.items) addPlan(item.arrival->request, item);
  if (scratch_bytes_ > 0) scratch_ = std::make_unique<StreamMemory>(job_->context(), scratch_bytes_);
}

void PeerWork::addPlan(const CommunicationRequest& request, PeerRun::Item& item) {
  const std::vector<int64_t>& members = item.channel->members;
  item.member = static_cast<size_t>(positionOf(members, table_->rank()));
  Plan plan = {.operands = operandsOf(request, table_->ranks(), table_->rank())};
  plan.reads = peerReads(request, plan.operands, members, item.member);
  item.owners = plan.reads.owners;
  item.readers = plan.reads.readers;
  if (plan.reads.terms_count > 0) {
    const int64_t size = sizeOf(request.dtype);
    plan.chunk = std::min(plan.reads.terms_count, kChunkBytes / size);
    plan.reduction = job_->reductions().make(request.reduction, request.dtype, std::ssize(members),
                                             static_cast<int64_t>(item.member), plan.chunk);
    scratch_bytes_ = std::max(scratch_bytes_, plan.chunk * size * (std::ssize(members) - 1));
  }
  plans_.push_back(std::move(plan));
}

int64_t PeerWork::hostBytes() const {
  auto bytes = static_cast<int64_t>(sizeof(PeerWork) + plans_.size() * (sizeof(Plan) + sizeof(PeerRun::Item)));
  for (const Plan& plan : plans_)
    bytes += static_cast<int64_t>(plan.operands.offsets.size() * sizeof(int64_t) +
                                  plan.reads.pieces.size() * sizeof(PeerPiece));
  return bytes;
}

void PeerWork::makeReadyOn(DriverContext& context, driver::Stream stream) const {
  CudaHostWork::makeReadyOn(context, stream);
  if (scratch_ != nullptr) scratch_->on(stream, name_);
}

void PeerWork::stop() const noexcept {
  std::vector<PeerFlags::Value> values;
  for (const Awaited& awaited : awaited_) values.push_back({awaited.flag, awaited.value});
  job_->flags().release(values);
}

void PeerWork::runAll(DriverContext& context, driver::Stream stream, std::span<void* const> addresses) const {
  awaited_.clear();
  table_->requireWhole();
  for (size_t i = 0; i < plans_.size(); ++i)
    requireOperands(run_.items[i].arrival->request, plans_[i].operands, table_->ranks(), table_->rank(),
                    addresses[2 * i], addresses[2 * i + 1]);
  for (size_t i = 0; i < plans_.size(); ++i) {
    PeerRun::Item& item = run_.items[i];
    const bool is_reduced = item.arrival->request.kind == CommunicationKind::Allreduce;
    if (!item.readers.empty() && plans_[i].operands.counts.input > 0) item.input = job_->share(addresses[2 * i]);
    if (is_reduced && plans_[i].operands.counts.output > 0) item.output = job_->share(addresses[2 * i + 1]);
  }
  table_->begin(run_);
  job_->log()->start(runs_, run_.items[0].number);
  table_->requireWhole();
  const DriverLibrary& driver = context.driver();
  context.check(driver.event_record(ready_, stream), "{}: {}: recording an event", context.name(), name_);
  Watch watch(*this, context);
  Issue issue(*this, context, stream, addresses);
  issue.announceReady();
  table_->arrive(run_);
  while (!table_->haveArrived(run_, kLongestNap)) watch.pulse();
  table_->requireAgreement(run_);
  watch.noteAllArrived();
  issue.completeReady();
  const auto waitUntilTold = [&](PeerFlag flag) {
    while (!table_->areTold(run_, flag, kLongestNap)) watch.pulse();
  };
  waitUntilTold(PeerFlag::Ready);
  issue.read();
  waitUntilTold(PeerFlag::Reduced);
  issue.readResults();
  waitUntilTold(PeerFlag::Done);
  issue.waitForReaders();
  context.check(driver.event_record(over_, stream), "{}: {}: recording an event", context.name(), name_);
  WorkPause pause;
  driver::Result status = driver.event_query(over_);
  for (; status == driver::kNotReady; status = driver.event_query(over_)) {
    watch.pulse();
    pause();
  }
  context.check(status, "{}: {}", context.name(), name_);
}

}  // namespace tokamak
