#include "dist/local/local_work.h"

#include <algorithm>
#include <exception>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/require.h"
#include "base/text.h"
#include "dist/local/local_faults.h"

namespace tokamak {

namespace {

using Kind = CommunicationKind;

// Whether `other` reads memory of `member`.
bool isReader(const Meeting& meeting, size_t member, size_t other, std::span<const int64_t> ranks) {
  const CommunicationRequest& request = *meeting.arrivals[member].request;
  switch (request.kind) {
    case Kind::Gather:
    case Kind::Reduce: return ranks[other] == request.root;
    case Kind::Scatter:
    case Kind::Broadcast:
    case Kind::SendRecv: return ranks[member] == request.root;
    case Kind::CollectivePermute: return ranks[other] == request.send_to;
    case Kind::Send: return other != member;
    case Kind::Recv: return false;
    default: return true;
  }
}

const std::byte* at(const void* address, int64_t elements, int64_t size) {
  return static_cast<const std::byte*>(address) + elements * size;
}
std::byte* at(void* address, int64_t elements, int64_t size) {
  return static_cast<std::byte*>(address) + elements * size;
}

}  // namespace

// The visits of a run. A run that ends with an error breaks the team, and its memory is let go once nobody reads it.
class LocalWork::Running {
 public:
  explicit Running(const LocalWork& work) : work_(work) {
    TK_REQUIRE(!work_.is_running_.exchange(true), Usage,
               "{}: the work runs already, on another stream; it belongs to one stream of its team", work_.name_);
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running() {
    for (Visit& visit : work_.visits_) work_.table_->depart(visit);
    work_.is_running_.store(false);
  }

 private:
  const LocalWork& work_;
};

LocalWork::LocalWork(std::shared_ptr<LocalJob> job, std::shared_ptr<TeamTable> table, int64_t rank,
                     std::span<const CommunicationRequest> group)
    : job_(std::move(job)), table_(std::move(table)), rank_(rank) {
  const std::span<const int64_t> ranks = table_->ranks();
  const auto size = static_cast<int64_t>(group.size());
  const int64_t collectives =
      size - std::ranges::count_if(group, isPointToPoint, [](const auto& request) { return request.kind; });
  int64_t position = 0;
  for (const CommunicationRequest& request : group) {
    Item item = {.request = request, .operands = operandsOf(request, ranks, rank)};
    if (isReducing(request.kind)) item.reduction = PartReduction(request.reduction, request.dtype);
    if (request.kind == Kind::Send) {
      item.channel = &table_->sends(rank, request.send_to, size);
    } else if (request.kind == Kind::Recv) {
      item.channel = &table_->sends(request.receive_from, rank, size);
      item.member = 1;
    } else {
      item.channel = &table_->collectives(size);
      item.member = static_cast<size_t>(positionOf(ranks, rank));
      item.group_size = collectives;
      item.group_position = position++;
    }
    items_.push_back(std::move(item));
  }
  visits_.resize(items_.size());
  terms_.resize(ranks.size());
  name_ = describe(items_[0].request);
  if (size > 1) name_ += fmt::format(" and {} more", size - 1);
  runs_ = job_->logOf(rank_)->runsOf(group, ranks, table_->epoch());
}

int64_t LocalWork::hostBytes() const {
  auto bytes = static_cast<int64_t>(sizeof(LocalWork) + items_.size() * (sizeof(Item) + sizeof(Visit)));
  for (const Item& item : items_)
    bytes += static_cast<int64_t>((item.operands.offsets.size() + 2 * item.request.counts.size()) * sizeof(int64_t));
  return bytes;
}

std::string LocalWork::operation(int64_t number) const {
  return table_->operationName(*items_[0].channel, items_[0].request.kind, number);
}

void LocalWork::breakBecauseOf(const std::exception_ptr& error, int64_t number) const noexcept {
  table_->breakUp({CommunicationFault::Failed, rank_,
                   fmt::format("rank {} cannot take part in {}: {}", rank_, operation(number), textOf(error))});
}

void LocalWork::skip(const std::exception_ptr& cause) const noexcept {
  breakBecauseOf(cause, table_->nextNumber(*items_[0].channel, items_[0].member));
  job_->logOf(rank_)->fail(runs_, cause);
}

// The team is broken before the visits end, which then wait for readers.
void LocalWork::run(void* const* addresses, BlockPool& pool) const {
  std::optional<Running> running;
  try {
    running.emplace(*this);
    runAll(addresses, pool);
    job_->logOf(rank_)->end(runs_);
  } catch (const CommunicationError&) {
    job_->logOf(rank_)->fail(runs_, std::current_exception());
    throw;  // the team's, or that of a death, which broke it
  } catch (...) {
    const Item& first = items_[0];
    breakBecauseOf(std::current_exception(), running ? number_ : table_->nextNumber(*first.channel, first.member));
    job_->logOf(rank_)->fail(runs_, std::current_exception());
    throw;
  }
}

// All of a group have arrived before anything is waited for, so that none waits for another one of its group.
void LocalWork::runAll(void* const* addresses, BlockPool& pool) const {
  number_ = table_->nextNumber(*items_[0].channel, items_[0].member);
  job_->logOf(rank_)->start(runs_, number_);
  table_->requireWhole();
  OperationFaults faults(job_->faults(), rank_, table_->keyOf(*items_[0].channel, number_), job_->operationsOf(rank_));
  pass(faults, OperationPoint::BeforeArrival);
  for (size_t i = 0; i < items_.size(); ++i)
    requireOperands(items_[i].request, items_[i].operands, table_->ranks(), rank_, addresses[2 * i],
                    addresses[2 * i + 1]);
  for (size_t i = 0; i < items_.size(); ++i) {
    const Item& item = items_[i];
    visits_[i] = {.channel = item.channel, .member = item.member};
    table_->arrive(visits_[i], {.request = &item.request,
                                .input = addresses[2 * i],
                                .output = addresses[2 * i + 1],
                                .group_size = item.group_size,
                                .group_position = item.group_position});
  }
  pass(faults, OperationPoint::AfterArrival);
  for (size_t i = 0; i < items_.size(); ++i) move(visits_[i], items_[i], faults, pool);
  for (const Visit& visit : visits_) table_->waitFor(visit, MeetingStage::Done, isReader);
}

void LocalWork::pass(OperationFaults& faults, OperationPoint point) const {
  if (!faults.passIsDeath(point)) return;
  const std::string where = operation(number_);
  job_->noteDeath(rank_, where);
  throw CommunicationError(CommunicationFault::Died, rank_, fmt::format("rank {} died in {}", rank_, where));
}

void LocalWork::move(const Visit& visit, const Item& item, OperationFaults& faults, BlockPool& pool) const {
  table_->waitForAll(visit);
  pass(faults, OperationPoint::BetweenParts);
  if (item.request.kind == Kind::Allreduce)
    allreduce(visit, item, faults, pool);
  else
    moveParts(visit, item, faults, pool);
  pass(faults, OperationPoint::BeforeEnd);
  table_->reach(visit, MeetingStage::Done);
}

void LocalWork::moveParts(const Visit& visit, const Item& item, OperationFaults& faults, BlockPool& pool) const {
  const Meeting& meeting = *visit.meeting;
  void* const output = meeting.arrivals[item.member].output;
  if (item.operands.counts.output == 0 || output == nullptr) return;
  if (item.request.kind == Kind::Reduce) return reducePart(visit, item, output, 0, item.operands.counts.output, pool);
  if (item.request.kind == Kind::ReduceScatter)
    return reducePart(visit, item, output, item.operands.offsets[item.member], item.operands.counts.output, pool);
  const auto members = static_cast<int64_t>(meeting.arrivals.size());
  const int64_t first = faults.firstOf(members);
  for (int64_t i = 0; i < members; ++i) {
    if (i == members / 2) pass(faults, OperationPoint::BetweenParts);
    copyFrom(visit, item, static_cast<size_t>((first + i) % members), pool);
  }
}

// Where what `member` gets begins in what the other one of an AllToAll sends.
static int64_t sentBefore(const CommunicationRequest& theirs, size_t member) {
  return std::accumulate(theirs.counts.begin(), theirs.counts.begin() + static_cast<std::ptrdiff_t>(member),
                         int64_t{0});
}

// What this rank gets from that one, or nothing.
void LocalWork::copyFrom(const Visit& visit, const Item& item, size_t other, BlockPool& pool) const {
  const CommunicationRequest& request = item.request;
  const Arrival& theirs = visit.meeting->arrivals[other];
  const int64_t sender = visit.channel->members[other];
  int64_t from = 0;
  int64_t to = 0;
  int64_t count = item.operands.counts.output;
  switch (request.kind) {
    case Kind::Allgather:
    case Kind::Gather:
    case Kind::AllToAll:
      to = item.operands.offsets[other];
      count = item.operands.offsets[other + 1] - to;
      break;
    case Kind::Scatter: from = item.operands.offsets[item.member]; [[fallthrough]];
    case Kind::Broadcast:
    case Kind::SendRecv: count = sender == request.root ? count : 0; break;
    default: count = sender == request.receive_from ? count : 0; break;  // CollectivePermute, Recv
  }
  if (count == 0) return;
  const int64_t size = sizeOf(request.dtype);
  TeamTable::beginReading(visit, other);
  if (request.kind == Kind::AllToAll) from = sentBefore(*theirs.request, item.member);
  copyPart(at(visit.meeting->arrivals[item.member].output, to, size), at(theirs.input, from, size), count * size, pool);
  TeamTable::endReading(visit, other);
}

void LocalWork::reducePart(const Visit& visit, const Item& item, void* out, int64_t offset, int64_t count,
                           BlockPool& pool) const {
  const std::vector<Arrival>& arrivals = visit.meeting->arrivals;
  for (size_t other = 0; other < arrivals.size(); ++other) TeamTable::beginReading(visit, other);
  for (size_t other = 0; other < arrivals.size(); ++other) terms_[other] = arrivals[other].input;
  item.reduction.run(out, terms_, offset, count, pool);
  for (size_t other = 0; other < arrivals.size(); ++other) TeamTable::endReading(visit, other);
}

// Each member reduces a part, and copies those of the others. A result may be stored over its term: of that, another
// member's part is read by that member alone, before it has reduced it.
void LocalWork::allreduce(const Visit& visit, const Item& item, OperationFaults& faults, BlockPool& pool) const {
  const std::vector<Arrival>& arrivals = visit.meeting->arrivals;
  const int64_t size = sizeOf(item.request.dtype);
  void* const output = arrivals[item.member].output;
  const int64_t begin = item.operands.offsets[item.member];
  const int64_t count = item.operands.offsets[item.member + 1] - begin;
  if (count > 0) reducePart(visit, item, at(output, begin, size), begin, count, pool);
  table_->reach(visit, MeetingStage::Reduced);
  pass(faults, OperationPoint::BetweenParts);
  const auto isAnybody = [](const Meeting&, size_t, size_t, std::span<const int64_t>) { return true; };
  table_->waitFor(visit, MeetingStage::Reduced, isAnybody);
  const auto members = static_cast<int64_t>(arrivals.size());
  const int64_t first = faults.firstOf(members);
  for (int64_t i = 0; i < members; ++i) {
    const auto other = static_cast<size_t>((first + i) % members);
    const int64_t part = item.operands.offsets[other];
    TeamTable::beginReadingResult(visit, other);
    copyPart(at(output, part, size), at(arrivals[other].output, part, size),
             (item.operands.offsets[other + 1] - part) * size, pool);
    TeamTable::endReading(visit, other);
  }
}

}  // namespace tokamak
