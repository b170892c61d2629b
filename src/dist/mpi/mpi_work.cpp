#include "dist/mpi/mpi_work.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/require.h"
#include "base/say.h"

namespace tokamak {

namespace {

// How long a member that knows of a breakage may take to say so.
constexpr std::chrono::milliseconds kGrace{1500};
// How long calling the others' data off may take then. Both end within the two seconds in which an error is told.
constexpr std::chrono::milliseconds kLastGrace{300};

}  // namespace

class MpiWork::Running {
 public:
  explicit Running(const MpiWork& work) : work_(work) {
    TK_REQUIRE(!work_.is_running_.exchange(true), Usage,
               "{}: the work runs already, on another stream; it belongs to one stream of its team", work_.name_);
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running() { work_.is_running_.store(false); }

 private:
  const MpiWork& work_;
};

MpiWork::MpiWork(std::shared_ptr<MpiJob> job, std::shared_ptr<MpiTeamTable> table,
                 std::span<const CommunicationRequest> group)
    : job_(std::move(job)), table_(std::move(table)), world_(job_->world()) {
  const std::span<const int64_t> ranks = table_->ranks();
  const int64_t rank = job_->rank();
  const auto position = static_cast<size_t>(positionOf(ranks, rank));
  const auto size = static_cast<int64_t>(group.size());
  const int64_t collectives =
      size - std::ranges::count_if(group, isPointToPoint, [](const auto& request) { return request.kind; });
  int64_t next = 0;
  const Lock lock(world_.mutex());
  for (const CommunicationRequest& request : group) {
    Item item = {.request = request,
                 .operands = operandsOf(request, ranks, rank),
                 .transfers = transfersOf(request, ranks, position)};
    if (isReducing(request.kind)) item.reduction = PartReduction(request.reduction, request.dtype);
    if (request.kind == CommunicationKind::Send) {
      item.channel = &table_->transfers(rank, request.send_to);
    } else if (request.kind == CommunicationKind::Recv) {
      item.channel = &table_->transfers(request.receive_from, rank);
      item.member = 1;
    } else {
      item.channel = &table_->collectives();
      item.member = position;
      item.group_size = collectives;
      item.group_position = next++;
    }
    Visit& visit = visits_.emplace_back();
    const auto reserve = [](Requests& requests, const std::vector<Transfer>& transfers) {
      requests.open.resize(transfers.size());
      requests.is_called_off.resize(transfers.size());
    };
    reserve(visit.sends, item.transfers.sends);
    reserve(visit.receives, item.transfers.receives);
    reserve(visit.result_sends, item.transfers.result_sends);
    reserve(visit.result_receives, item.transfers.result_receives);
    visit.terms.resize(ranks.size());
    items_.push_back(std::move(item));
  }
  name_ = describe(items_[0].request);
  if (size > 1) name_ += fmt::format(" and {} more", size - 1);
  runs_ = job_->log()->runsOf(group, ranks, table_->epoch());
}

int64_t MpiWork::hostBytes() const {
  auto bytes = static_cast<int64_t>(sizeof(MpiWork) + items_.size() * (sizeof(Item) + sizeof(Visit)));
  for (const Item& item : items_) {
    const Transfers& all = item.transfers;
    const size_t transfers =
        all.sends.size() + all.receives.size() + all.result_sends.size() + all.result_receives.size();
    bytes += static_cast<int64_t>(transfers * (sizeof(Transfer) + sizeof(uint64_t) + 1) +
                                  all.steps.size() * sizeof(ReductionStep));
  }
  return bytes;
}

std::string MpiWork::operation(int64_t number) const {
  return table_->operationName(*items_[0].channel, items_[0].request.kind, number);
}

void MpiWork::breakBecauseOf(const std::exception_ptr& error, int64_t number) const {
  table_->breakLocked(
      {CommunicationFault::Failed, job_->rank(),
       fmt::format("rank {} cannot take part in {}: {}", job_->rank(), operation(number), textOf(error))});
}

void MpiWork::skip(const std::exception_ptr& cause) const noexcept {
  try {
    const Lock lock(world_.mutex());
    breakBecauseOf(cause, items_[0].channel->next);
  } catch (const std::exception& error) {
    say("{}: the others cannot be told that this rank leaves: {}", name_, error.what());
  }
  job_->log()->fail(runs_, cause);
}

void MpiWork::run(void* const* addresses, BlockPool& pool) const {
  std::optional<Running> running;
  try {
    running.emplace(*this);
    for (Visit& visit : visits_) visit.number = -1;
    runAll(addresses, pool);
    job_->log()->end(runs_);
  } catch (...) {
    const std::exception_ptr error = std::current_exception();
    job_->log()->fail(runs_, error);
    Lock lock(world_.mutex());
    const int64_t first = running ? visits_[0].number : -1;
    breakBecauseOf(error, first < 0 ? items_[0].channel->next : first);  // nothing where it is broken
    if (running) getOut(lock);
    std::rethrow_exception(error);
  }
}

// All of a group have arrived before anything is waited for, so that none waits for another one of its group.
void MpiWork::runAll(void* const* addresses, BlockPool& pool) const {
  Lock lock(world_.mutex());
  job_->log()->start(runs_, items_[0].channel->next);
  table_->requireWhole();
  for (size_t i = 0; i < items_.size(); ++i)
    requireOperands(items_[i].request, items_[i].operands, table_->ranks(), job_->rank(), addresses[2 * i],
                    addresses[2 * i + 1]);
  for (size_t i = 0; i < items_.size(); ++i) arrive(i, addresses[2 * i], addresses[2 * i + 1]);
  tellOthers();
  waitForAll(lock);
  for (size_t i = 0; i < items_.size(); ++i)
    startSends(i, visits_[i].sends, items_[i].transfers.sends, 0, items_[i].transfers.sends.size(), 0);
  lock.unlock();  // (Copied before, while the others come, an all-gather of 16 MB takes 1.4 times as long.)
  for (size_t i = 0; i < items_.size(); ++i) copyOwn(i, pool);
  lock.lock();
  for (size_t i = 0; i < items_.size(); ++i) reduce(i, lock, pool);
  waitForEnd(lock);
  for (size_t i = 0; i < items_.size(); ++i) {
    table_->giveBack(std::move(visits_[i].scratch));
    items_[i].channel->meetings.erase(visits_[i].number);
  }
}

// Receives come before the word that its sender waits for. The result of an in-place Allreduce goes where its term was
// sent from: by who has received that.
void MpiWork::arrive(size_t index, void* input, void* output) const {
  const Item& item = items_[index];
  Visit& visit = visits_[index];
  visit.input = static_cast<std::byte*>(input);
  visit.output = static_cast<std::byte*>(output);
  visit.scratch = table_->takeScratch(item.transfers.scratch_bytes);
  visit.number = item.channel->next++;
  const int64_t tag = world_.tags(2);
  startReceives(visit.receives, item.transfers.receives, visit, tag);
  startReceives(visit.result_receives, item.transfers.result_receives, visit, tag + 1);
  table_->noteArrival(
      *item.channel, visit.number, item.member,
      {.request = item.request, .group_size = item.group_size, .group_position = item.group_position, .tag = tag});
}

void MpiWork::tellOthers() const {
  for (const int64_t rank : table_->ranks()) {
    if (rank == job_->rank()) continue;
    const auto concerns = [&](const Item& item) { return positionOf(item.channel->members, rank) >= 0; };
    const int64_t count = std::ranges::count_if(items_, concerns);
    if (count == 0) continue;
    MpiMessageWriter message(MpiMessageKind::Arrival, job_->key());
    message.add(table_->ranks());
    message.add(table_->epoch());
    message.add(count);
    for (size_t i = 0; i < items_.size(); ++i) {
      const Item& item = items_[i];
      if (!concerns(item)) continue;
      const bool is_transfer = isPointToPoint(item.request.kind);
      message.add(is_transfer ? item.channel->members[0] : -1);
      message.add(is_transfer ? item.channel->members[1] : -1);
      message.add(visits_[i].number);
      message.add(item.group_size);
      message.add(item.group_position);
      message.add(item.channel->meetings.at(visits_[i].number).arrivals[item.member]->tag);
      message.add(item.request);
    }
    world_.tell(rank, message.take());
  }
}

void MpiWork::waitForAll(Lock& lock) const {
  const auto findMissing = [&] {
    size_t i = 0;
    while (i < items_.size() && items_[i].channel->meetings.at(visits_[i].number).isComplete()) ++i;
    return i;
  };
  const auto isOver = [&] {
    const size_t missing = findMissing();
    if (missing < items_.size()) table_->breakIfMissed(*items_[missing].channel, visits_[missing].number);
    return missing == items_.size() || table_->isBroken();
  };
  if (!world_.waitUntil(lock, MpiWorld::Clock::now() + table_->timeout(), MpiWait::Message, isOver)) {
    const size_t missing = findMissing();
    table_->breakBecauseOfTime(*items_[missing].channel, visits_[missing].number);
  }
  table_->requireWhole();
}

std::byte* MpiWork::at(const Visit& visit, TransferMemory memory, int64_t offset) {
  switch (memory) {
    case TransferMemory::Input: return visit.input + offset;
    case TransferMemory::Output: return visit.output + offset;
    case TransferMemory::Scratch: return visit.scratch.bytes.get() + offset;
  }
  return nullptr;
}

void MpiWork::startReceives(Requests& requests, std::span<const Transfer> transfers, const Visit& visit,
                            int64_t tag) const {
  for (size_t i = 0; i < transfers.size(); ++i) {
    const Transfer& it = transfers[i];
    requests.is_called_off[i] = 0;
    requests.open[i] = world_.receive(at(visit, it.memory, it.offset), it.bytes, table_->ranks()[it.member], tag);
  }
}

void MpiWork::startSends(size_t index, Requests& requests, std::span<const Transfer> transfers, size_t begin,
                         size_t end, int64_t tag_offset) const {
  const Item& item = items_[index];
  const Visit& visit = visits_[index];
  const MpiMeeting& meeting = item.channel->meetings.at(visit.number);
  for (size_t i = begin; i < end; ++i) {
    const Transfer& it = transfers[i];
    const int64_t rank = table_->ranks()[it.member];
    const MpiArrival& theirs = *meeting.arrivals[static_cast<size_t>(positionOf(item.channel->members, rank))];
    requests.open[i] = world_.send(at(visit, it.memory, it.offset), it.bytes, rank, theirs.tag + tag_offset);
  }
}

void MpiWork::copyOwn(size_t index, BlockPool& pool) const {
  const Visit& visit = visits_[index];
  if (visit.output == nullptr) return;
  for (const OwnCopy& copy : items_[index].transfers.copies)
    copyPart(visit.output + copy.to, visit.input + copy.from, copy.bytes, pool);
}

int64_t MpiWork::awaited(Requests& requests, std::span<const Transfer> transfers, size_t begin, size_t end) const {
  for (size_t i = begin; i < end; ++i)
    if (!world_.isOver(requests.open[i])) return static_cast<int64_t>(transfers[i].member);
  return -1;
}

// A piece is reduced, and sent as a result, while MPI moves the next ones.
void MpiWork::reduce(size_t index, Lock& lock, BlockPool& pool) const {
  const Item& item = items_[index];
  Visit& visit = visits_[index];
  const std::span<const Transfer> receives = item.transfers.receives;
  const auto own = static_cast<size_t>(positionOf(table_->ranks(), job_->rank()));
  size_t received = 0;
  size_t sent = 0;
  for (const ReductionStep& step : item.transfers.steps) {
    const auto isOver = [&] {
      return awaited(visit.receives, receives, received, step.receives) < 0 || table_->isBroken();
    };
    if (!world_.waitUntil(lock, MpiWorld::Clock::now() + table_->timeout(), MpiWait::Data, isOver))
      raiseLate(index, awaited(visit.receives, receives, received, step.receives));
    table_->requireWhole();
    received = step.receives;
    for (size_t member = 0; member < visit.terms.size(); ++member)
      visit.terms[member] =
          member == own ? visit.input + step.own_term : visit.scratch.bytes.get() + step.terms[member];
    lock.unlock();
    item.reduction.run(at(visit, step.result_memory, step.result), visit.terms, 0, step.count, pool);
    lock.lock();
    table_->requireWhole();
    startSends(index, visit.result_sends, item.transfers.result_sends, sent, step.result_sends, 1);
    sent = step.result_sends;
  }
}

int64_t MpiWork::awaitedAtEnd(size_t index) const {
  const Transfers& transfers = items_[index].transfers;
  Visit& visit = visits_[index];
  int64_t member = awaited(visit.receives, transfers.receives, 0, transfers.receives.size());
  if (member < 0)
    member = awaited(visit.result_receives, transfers.result_receives, 0, transfers.result_receives.size());
  if (member < 0) member = awaited(visit.sends, transfers.sends, 0, transfers.sends.size());
  if (member < 0) member = awaited(visit.result_sends, transfers.result_sends, 0, transfers.result_sends.size());
  return member;
}

void MpiWork::waitForEnd(Lock& lock) const {
  for (size_t i = 0; i < items_.size(); ++i) {
    bool is_over = false;
    const auto isOver = [&] {
      is_over = awaitedAtEnd(i) < 0;
      return is_over || table_->isBroken();
    };
    if (!world_.waitUntil(lock, MpiWorld::Clock::now() + table_->timeout(), MpiWait::Data, isOver))
      raiseLate(i, awaitedAtEnd(i));
    if (!is_over) table_->requireWhole();
  }
}

void MpiWork::raiseLate(size_t index, int64_t position) const {
  const int64_t rank = table_->ranks()[static_cast<size_t>(std::max<int64_t>(0, position))];
  table_->breakAtEndBecauseOfTime(*items_[index].channel, visits_[index].number, rank);
  table_->requireWhole();
}

// Sends were begun to who has its memory ready, and end. Receives end, or are called off once their sender has said
// that it sends no more. Nobody waits for a dead process.
bool MpiWork::letGo(Requests& requests, std::span<const Transfer> transfers, bool are_receives) const {
  bool is_out = true;
  for (size_t i = 0; i < transfers.size(); ++i) {
    const int64_t rank = table_->ranks()[transfers[i].member];
    if (world_.isOver(requests.open[i])) continue;
    if (are_receives && table_->isOut(rank) && requests.is_called_off[i] == 0) {
      requests.is_called_off[i] = 1;
      world_.cancel(requests.open[i]);
    }
    if (world_.isOver(requests.open[i])) continue;
    if (world_.isDead(rank)) {
      world_.abandon();
      requests.open[i] = 0;
    } else {
      is_out = false;
    }
  }
  return is_out;
}

bool MpiWork::isOut(size_t index) const {
  const Transfers& transfers = items_[index].transfers;
  Visit& visit = visits_[index];
  bool is_out = letGo(visit.sends, transfers.sends, false);
  is_out = letGo(visit.result_sends, transfers.result_sends, false) && is_out;
  is_out = letGo(visit.receives, transfers.receives, true) && is_out;
  return letGo(visit.result_receives, transfers.result_receives, true) && is_out;
}

void MpiWork::getOut(Lock& lock) const {
  const auto isAllOut = [&] {
    bool is_out = true;
    for (size_t i = 0; i < items_.size(); ++i) is_out = isOut(i) && is_out;
    return is_out;
  };
  if (!world_.waitUntil(lock, MpiWorld::Clock::now() + kGrace, MpiWait::Data, isAllOut)) {
    // Those who do not answer: what nobody has begun to send is called off all the same.
    for (const int64_t rank : table_->ranks()) table_->noteSilent(rank);
    if (!world_.waitUntil(lock, MpiWorld::Clock::now() + kLastGrace, MpiWait::Data, isAllOut))
      world_.endJob(table_->breakage().text +
                    "; memory that MPI still uses cannot be taken back, so that the job ends here");
  }
  for (size_t i = 0; i < items_.size(); ++i) {
    if (visits_[i].number < 0) continue;
    table_->giveBack(std::move(visits_[i].scratch));
    items_[i].channel->meetings.erase(visits_[i].number);
  }
}

}  // namespace tokamak
