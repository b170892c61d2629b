#include "dist/operation_log.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>

#include "base/output_file.h"
#include "base/say.h"
#include "base/text.h"
#include "dist/operation_texts.h"
#include "runtime/cpu/stream_edges.h"

namespace tokamak {

namespace {

constexpr const char* kVariable = "TOKAMAK_OPERATIONS";

// The processor's own counter, which takes a third of the time that the clock does; how fast it counts is seen when the
// log is read.
int64_t ticksNow() {
#if defined(__x86_64__)
  return static_cast<int64_t>(__builtin_ia32_rdtsc());
#elif defined(__aarch64__)
  int64_t ticks = 0;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#else
  return std::chrono::steady_clock::now().time_since_epoch().count();
#endif
}

std::string fileOf(int64_t rank, std::string given) {
  const char* const named = std::getenv(kVariable);
  if (given.empty() && named != nullptr) given = named;
  return given.empty() ? given : fmt::format("{}.{}", given, rank);
}

std::string microseconds(int64_t nanoseconds) {
  return nanoseconds < 0 ? "-" : fmt::format("{:.1f}", static_cast<double>(nanoseconds) / 1000);
}

}  // namespace

OperationLog::OperationLog(int64_t rank, int64_t ranks, std::string file)
    : rank_(rank), ranks_(ranks), file_(fileOf(rank, std::move(file))), first_tick_(ticksNow()) {}

OperationLog::~OperationLog() = default;

OperationRuns OperationLog::runsOf(std::span<const CommunicationRequest> group, std::span<const int64_t> team,
                                   int64_t epoch) {
  OperationRuns runs;
  Entry& facts = runs.facts_;
  const CommunicationRequest& first = group[0];
  const auto largestOf = [&](const CommunicationRequest& request) {
    const BufferCounts counts = bufferCounts(request, team, rank_);
    return std::max(counts.input, counts.output);
  };
  facts.epoch = epoch;
  facts.kind = first.kind;
  facts.dtype = first.dtype;
  facts.elements = largestOf(first);
  for (const CommunicationRequest& request : group) facts.bytes += largestOf(request) * sizeOf(request.dtype);
  facts.group_size = static_cast<int64_t>(group.size());
  if (isPointToPoint(first.kind)) {
    const bool is_send = first.kind == CommunicationKind::Send;
    facts.from = is_send ? rank_ : first.receive_from;
    facts.to = is_send ? first.send_to : rank_;
  }
  const HideFromSanitizer hide;
  const std::lock_guard lock(lock_);
  const auto isTeam = [&](const std::vector<int64_t>& known) { return std::ranges::equal(known, team); };
  const auto known = std::ranges::find_if(teams_, isTeam);
  facts.team = static_cast<uint32_t>(known - teams_.begin());
  if (known == teams_.end()) teams_.emplace_back(team.begin(), team.end());
  facts.work = works_++;
  return runs;
}

OperationLog::Entry* OperationLog::find(uint64_t ticket, uint64_t work) {
  if (ticket == kNone) return nullptr;
  Entry& entry = at(ticket);
  return entry.ticket == ticket && entry.work == work ? &entry : nullptr;
}

OperationLog::Entry& OperationLog::add(OperationRuns& runs, uint64_t run) {
  const uint64_t ticket = count_++;
  Entry& entry = at(ticket);
  entry = runs.facts_;
  entry.ticket = ticket;
  entry.run = run;
  if (Entry* const last = find(runs.newest_, entry.work)) last->next_run = ticket;
  runs.newest_ = ticket;
  return entry;
}

void OperationLog::post(OperationRuns& runs) noexcept {
  const int64_t tick = ticksNow();
  const HideFromSanitizer hide;
  const std::lock_guard lock(lock_);
  ++changes_;
  Entry& entry = add(runs, runs.posted_);
  entry.ticks[0] = tick;
  if (runs.posted_++ == runs.started_) runs.oldest_ = entry.ticket;
}

// The next run of the work. Where more than the ring holds were posted since, its place is another's: then those that
// follow are not known by the last one, but have to be looked for.
OperationLog::Entry& OperationLog::takeNext(OperationRuns& runs) {
  const uint64_t run = runs.started_++;
  const uint64_t work = runs.facts_.work;
  runs.posted_ = std::max(runs.posted_, runs.started_);  // of a work that is run without being launched
  Entry* entry = find(runs.oldest_, work);
  if (entry == nullptr || entry->run != run) {
    const auto found = std::ranges::find_if(
        entries_, [&](const Entry& it) { return it.work == work && it.run == run && it.ticket != kNone; });
    entry = found != entries_.end() ? &*found : &add(runs, run);
  }
  runs.oldest_ = entry->next_run;
  runs.running_ = entry->ticket;
  return *entry;
}

void OperationLog::start(OperationRuns& runs, int64_t number) noexcept {
  const int64_t tick = ticksNow();
  const HideFromSanitizer hide;
  const std::lock_guard lock(lock_);
  ++changes_;
  Entry& entry = takeNext(runs);
  entry.number = number;
  entry.ticks[1] = tick;
  entry.state = OperationState::Running;
}

void OperationLog::end(OperationRuns& runs) noexcept {
  const int64_t tick = ticksNow();
  const HideFromSanitizer hide;
  const std::lock_guard lock(lock_);
  ++changes_;
  Entry* const entry = find(std::exchange(runs.running_, kNone), runs.facts_.work);
  if (entry == nullptr) return;  // many others were posted meanwhile
  entry->ticks[2] = tick;
  entry->state = OperationState::Done;
}

void OperationLog::fail(OperationRuns& runs, const std::exception_ptr& error) noexcept {
  {
    const int64_t tick = ticksNow();
    const HideFromSanitizer hide;
    const std::lock_guard lock(lock_);
    ++changes_;
    const bool runs_now = runs.running_ != kNone;
    Entry* const entry = runs_now ? find(runs.running_, runs.facts_.work) : &takeNext(runs);
    runs.running_ = kNone;
    if (entry != nullptr) {
      entry->ticks[2] = tick;
      entry->state = OperationState::Failed;
    }
  }
  if (file_.empty()) return;
  try {
    noteError(textOf(error));
  } catch (...) {
    noteError("out of host memory");
  }
}

int64_t OperationLog::count() const {
  const HideFromSanitizer hide;
  const std::lock_guard lock(lock_);
  return static_cast<int64_t>(count_);
}

LoggedOperation OperationLog::operationOf(const Entry& entry, double nanoseconds_per_tick) const {
  const auto timeOf = [&](int64_t tick) {
    return tick == 0 ? int64_t{-1}
                     : static_cast<int64_t>(static_cast<double>(tick - first_tick_) * nanoseconds_per_tick);
  };
  LoggedOperation operation = {.team = teams_[entry.team], .epoch = entry.epoch, .transfer = {}};
  if (entry.from >= 0) operation.transfer = {entry.from, entry.to};
  operation.kind = entry.kind;
  operation.number = entry.number;
  operation.dtype = entry.dtype;
  operation.elements = entry.elements;
  operation.bytes = entry.bytes;
  operation.group_size = entry.group_size;
  operation.state = entry.state;
  operation.posted = timeOf(entry.ticks[0]);
  operation.started = timeOf(entry.ticks[1]);
  operation.ended = timeOf(entry.ticks[2]);
  return operation;
}

std::vector<LoggedOperation> OperationLog::operations() const {
  const std::chrono::duration<double, std::nano> since = std::chrono::steady_clock::now() - begin_;
  const double nanoseconds_per_tick =
      since.count() / static_cast<double>(std::max<int64_t>(1, ticksNow() - first_tick_));
  const HideFromSanitizer hide;
  const std::lock_guard lock(lock_);
  std::vector<LoggedOperation> operations;
  for (uint64_t ticket = count_ - std::min<uint64_t>(count_, kCapacity); ticket < count_; ++ticket)
    operations.push_back(operationOf(entries_[ticket % kCapacity], nanoseconds_per_tick));
  return operations;
}

// The number is known once it has started.
static std::string nameOf(const LoggedOperation& operation) {
  const OperationPlace place = {
      .team = operation.team, .epoch = operation.epoch, .transfer = operation.transfer, .number = operation.number};
  std::string name = operationName(place, operation.kind);
  const std::string unknown = fmt::format(" {}", place.number);
  return place.number < 0 ? name.erase(name.find(unknown), unknown.size()) : name;
}

std::string describe(const LoggedOperation& operation) {
  std::string text =
      fmt::format("{:>12} {:>12} {:>12}  {:<7} {:>12}  {}: {} {}", microseconds(operation.posted),
                  microseconds(operation.started), microseconds(operation.ended), enumName(operation.state),
                  operation.bytes, nameOf(operation), operation.elements, dataTypeName(operation.dtype));
  if (operation.group_size > 1) text += fmt::format(" and {} more", operation.group_size - 1);
  return text;
}

std::string OperationLog::textWith(std::string_view error) const {
  const std::vector<LoggedOperation> last = operations();
  std::string text =
      fmt::format("rank {} of {}: the last {} of {} operations; microseconds since its communicator was made\n", rank_,
                  ranks_, last.size(), count());
  if (!error.empty()) text += fmt::format("error: {}\n", error);
  text +=
      fmt::format("{:>12} {:>12} {:>12}  {:<7} {:>12}  operation\n", "posted", "started", "ended", "state", "bytes");
  for (const LoggedOperation& operation : last) text += describe(operation) + "\n";
  return text;
}

std::string OperationLog::text() const { return textWith({}); }

void OperationLog::writeWith(const std::string& path, std::string_view error) const {
  OutputFile file("operations", path);
  file.write(textWith(error));
  file.finish();
}

void OperationLog::write(const std::string& path) const { writeWith(path, {}); }

void OperationLog::noteError(std::string_view error) noexcept {
  if (file_.empty()) return;
  const std::lock_guard file_lock(file_lock_);
  {
    const HideFromSanitizer hide;
    const std::lock_guard lock(lock_);
    if (std::exchange(written_changes_, changes_) == changes_) return;
  }
  try {
    writeWith(file_, error);
  } catch (const std::exception& failure) {
    say("the last operations of rank {} cannot be written: {}", rank_, failure.what());
  }
}

}  // namespace tokamak
