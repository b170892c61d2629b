#include "dist/nccl/nccl_work.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/require.h"
#include "base/spin_lock.h"

namespace tokamak {

namespace {

constexpr std::chrono::milliseconds kTellsAfter{20};  // where a work waits, at most

}  // namespace

// What the stream's thread does while it waits.
class NcclWork::Watch {
 public:
  Watch(const NcclWork& work, DriverContext& context) : work_(work), context_(context) {}

  /// Errors: CommunicationError of a team that is broken meanwhile.
  void pulse() {
    NcclTeamTable& table = *work_.table_;
    if (table.isBroken() && table.isConcerned(work_.run_) && grace_.isOver(is_told_)) table.requireWhole();
    pause_();
    if (!work_.run_.has_arrived) {
      if (!isOver(context_.driver(), work_.ready_)) return;
      table.arrive(work_.run_);
      since_ = WorkClock::now();
      return;
    }
    const auto waited = WorkClock::now() - since_;
    if (waited > std::min<WorkClock::duration>(kTellsAfter, table.timeout() / 4)) table.tellWaiting(work_.run_);
    if (waited > table.timeout()) table.breakBecauseOfTime(work_.run_);
  }

  /// The GPU has the work now.
  void noteTold() { is_told_ = true; }

 private:
  const NcclWork& work_;
  DriverContext& context_;
  WorkClock::time_point since_ = WorkClock::now();
  BreakageGrace grace_;
  WorkPause pause_;
  bool is_told_ = false;
};

NcclWork::NcclWork(std::shared_ptr<NcclJob> job, std::shared_ptr<NcclTeamTable> table,
                   std::span<const CommunicationRequest> group)
    : SocketWork(std::move(job), std::move(table), group) {
  buffers_.resize(2 * group.size() + 1);
  for (size_t i = 0; i < group.size(); ++i) {
    operands_.push_back(operandsOf(group[i], table_->ranks(), table_->rank()));
    addCalls(group[i], i);
  }
  const bool is_alone = group.size() == 1;
  channel_ = is_alone ? run_.items[0].channel : &table_->collectives();
  const auto isOfNccl = [](const NcclCall& call) { return call.function != NcclCall::Function::Copy; };
  needs_connection_ = std::ranges::any_of(calls_, isOfNccl);
  if (staged_bytes_ > 0) staged_ = std::make_unique<StreamMemory>(job_->context(), staged_bytes_);
}

void NcclWork::addCalls(const CommunicationRequest& request, size_t number) {
  const std::span<const int64_t> ranks = table_->ranks();
  const bool is_alone_transfer = isPointToPoint(request.kind) && !run_.items[number].arrival->is_grouped;
  const NcclBuffers buffers = {.input = 2 * number, .output = 2 * number + 1};
  if (is_alone_transfer) {
    if (request.counts[0] > 0) calls_.push_back(transferCall(request, buffers));
    return;
  }
  if (isReducing(request.kind) && ranks.size() > 1 && stagedType(request.reduction, request.dtype) != request.dtype)
    return addStaged(request, number);
  const std::vector<NcclCall> calls = ncclCalls(request, ranks, table_->rank(), buffers, request.dtype);
  calls_.insert(calls_.end(), calls.begin(), calls.end());
}

// The terms are staged at the end of what is staged before, reduced in place there, and what this rank gets goes back.
void NcclWork::addStaged(const CommunicationRequest& request, size_t number) {
  const DataType type = stagedType(request.reduction, request.dtype);
  const CommunicationOperands& operands = operands_[number];
  if (operands.counts.input == 0) return;
  const size_t staged = buffers_.size() - 1;
  const int64_t begin = staged_bytes_;
  staged_bytes_ += (operands.counts.input * sizeOf(type) + 255) / 256 * 256;
  const int64_t own = request.kind == CommunicationKind::ReduceScatter
                          ? operands.offsets[static_cast<size_t>(positionOf(table_->ranks(), table_->rank()))]
                          : 0;
  const NcclCall::Place result = {staged, begin + own * sizeOf(type)};
  before_.push_back({.work = job_->kernels().stage(request.reduction, request.dtype, operands.counts.input),
                     .from = {.buffer = 2 * number},
                     .to = {staged, begin}});
  for (NcclCall call : ncclCalls(request, table_->ranks(), table_->rank(), {.input = 0, .output = 1}, type)) {
    call.from = {staged, begin + call.from.bytes};
    call.to = result;
    calls_.push_back(call);
  }
  if (operands.counts.output > 0)
    after_.push_back({.work = job_->kernels().unstage(request.reduction, request.dtype, operands.counts.output),
                      .from = result,
                      .to = {.buffer = 2 * number + 1}});
}

int64_t NcclWork::hostBytes() const {
  return static_cast<int64_t>(sizeof(NcclWork) + calls_.size() * sizeof(NcclCall) +
                              run_.items.size() *
                                  (sizeof(SocketOperation<NcclChannel>) + sizeof(CommunicationOperands)));
}

void NcclWork::makeReadyOn(DriverContext& context, driver::Stream stream) const {
  CudaHostWork::makeReadyOn(context, stream);
  if (staged_ != nullptr) staged_->on(stream, name_);
}

void NcclWork::stop() const noexcept {
  if (channel_->connection != nullptr) channel_->connection->tearDown();
}

void NcclWork::runAll(DriverContext& context, driver::Stream stream, std::span<void* const> addresses) const {
  table_->requireWhole();
  for (size_t i = 0; i < operands_.size(); ++i)
    requireOperands(run_.items[i].arrival->request, operands_[i], table_->ranks(), table_->rank(), addresses[2 * i],
                    addresses[2 * i + 1]);
  table_->begin(run_);
  job_->log()->start(runs_, run_.items[0].number);
  std::ranges::copy(addresses, buffers_.begin());
  if (staged_ != nullptr) buffers_.back() = staged_->on(stream, name_);
  const DriverLibrary& driver = context.driver();
  context.check(driver.event_record(ready_, stream), "{}: {}: recording an event", context.name(), name_);
  Watch watch(*this, context);
  if (needs_connection_) connect(watch);
  tell(watch, context, stream, buffers_);
  watch.noteTold();
  context.check(driver.event_record(over_, stream), "{}: {}: recording an event", context.name(), name_);
  driver::Result status = driver.event_query(over_);
  for (; status == driver::kNotReady || !run_.has_arrived; status = driver.event_query(over_)) {
    watch.pulse();
    if (needs_connection_) channel_->connection->requireHealthy([&] { watch.pulse(); });
  }
  context.check(status, "{}: {}", context.name(), name_);
}

// The channel's first member makes the id. All members come here, or the wait ends.
void NcclWork::connect(Watch& watch) const {
  NcclChannel& channel = *channel_;
  if (channel.connection != nullptr) return;
  const int64_t position = positionOf(channel.members, table_->rank());
  if (position == 0) {
    nccl::UniqueId id;
    const nccl::Result result = job_->library().get_unique_id(&id);
    TK_REQUIRE(result == nccl::kSuccess, Device, "NCCL cannot make an id: {}", job_->library().describe(result));
    table_->giveId(channel, id);
  }
  const nccl::UniqueId* id = nullptr;
  while (id == nullptr) {
    watch.pulse();
    id = table_->findId(channel, std::chrono::microseconds(500));
  }
  channel.connection = std::make_unique<NcclConnection>(job_->library(), job_->context());
  channel.connection->connect(*id, std::ssize(channel.members), position, [&] { watch.pulse(); });
}

void NcclWork::tell(Watch& watch, DriverContext& context, driver::Stream stream, std::span<void* const> buffers) const {
  const auto launch = [&](const Kernel& kernel) {
    const std::array<void*, 2> operands = {NcclCall::addressOf(kernel.from, buffers),
                                           NcclCall::addressOf(kernel.to, buffers)};
    kernel.work->enqueue(context, stream, operands);
  };
  std::ranges::for_each(before_, launch);
  const NcclLibrary& library = job_->library();
  const nccl::Communicator communicator = needs_connection_ ? channel_->connection->handle() : nullptr;
  for (const NcclCall& call : calls_)
    if (call.function == NcclCall::Function::Copy) call.tell(library, context, communicator, stream, buffers);
  if (needs_connection_) {
    const auto pulse = [&] { watch.pulse(); };
    NcclConnection& connection = *channel_->connection;
    connection.finish(library.group_start(), "begin a group", pulse);
    nccl::Result result = nccl::kSuccess;
    for (const NcclCall& call : calls_) {
      if (call.function == NcclCall::Function::Copy) continue;
      const nccl::Result told = call.tell(library, context, communicator, stream, buffers);
      if (result == nccl::kSuccess && told != nccl::kInProgress) result = told;
    }
    const nccl::Result ended = library.group_end();  // in any case: groups are the thread's
    connection.finish(result == nccl::kSuccess ? ended : result, name_, pulse);
  }
  std::ranges::for_each(after_, launch);
}

}  // namespace tokamak
