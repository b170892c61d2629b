#include "dist/mpi/mpi_world.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>

#include <fmt/format.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "base/require.h"

namespace tokamak {

namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr int64_t kMessageTag = 0;  // data have the others
constexpr microseconds kLongestNap{500};
constexpr milliseconds kKeeperPause{5};
constexpr milliseconds kDeathPause{2};

// A thread that yields may be away for a time slice, one that naps for 50 us and more.
struct Spins {
  microseconds at_once;  // how long a wait looks again at once
  microseconds yielding;
};
Spins spinsOf(MpiWait kind) {
  return kind == MpiWait::Message ? Spins{microseconds(50), microseconds(200)}
                                  : Spins{microseconds(500), microseconds(20'000)};
}

}  // namespace

MpiWorld::Pace::Pace(MpiWait kind)
    : yield_from_(Clock::now() + spinsOf(kind).at_once), nap_from_(yield_from_ + spinsOf(kind).yielding) {}

void MpiWorld::Pace::pause() {
  const Clock::time_point now = Clock::now();
  if (now < yield_from_) return;
  if (now < nap_from_) return std::this_thread::yield();
  std::this_thread::sleep_for(nap_);
  nap_ = std::min(kLongestNap, nap_ * 3 / 2);
}

MpiWorld::MpiWorld(const MpiFunctions& functions) : functions_(functions) {
  require(functions_.start(functions_.context, &facts_), "the start");
  TK_REQUIRE(facts_.has_all_threads != 0, Unsupported,
             "MPI was started without MPI_THREAD_MULTIPLE; start it by MPI_Init_thread with that, or leave the start "
             "to Tokamak");
  keeper_ = std::thread([this] { keepGoing(); });
}

MpiWorld::~MpiWorld() {
  finish();
  for (const auto& [rank, process] : watched_) close(process.end);
}

void MpiWorld::finish() {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(is_finished_, true)) return;
    stops_ = true;
    stopped_.notify_all();
  }
  keeper_.join();
  const std::lock_guard lock(mutex_);
  const auto deadline = Clock::now() + std::chrono::seconds(2);
  while (!outgoing_.empty() && dead_.empty() && Clock::now() < deadline) {
    poll();
    if (!outgoing_.empty()) std::this_thread::sleep_for(kLongestNap);
  }
  is_over_ = true;
  if (dead_.empty() && late_.empty() && outgoing_.empty() && !has_open_requests_) functions_.finish(functions_.context);
}

void MpiWorld::require(int32_t error, const char* operation) const {
  if (error == 0) [[likely]]
    return;
  std::array<char, 512> text = {};
  functions_.describe(functions_.context, error, text.data(), static_cast<int64_t>(text.size()));
  TK_RAISE(Device, "MPI: {} failed: {}", operation, text.data());
}

void MpiWorld::join(const MpiJobKey& job, Listener& listener) {
  listeners_[job] = &listener;
  const auto early = early_.extract(job);
  if (!early.empty())
    for (const auto& [rank, bytes] : early.mapped()) deliver(rank, bytes);
  for (const int64_t rank : dead_) listener.noteDeath(rank);
}

void MpiWorld::part(const MpiJobKey& job) {
  const std::lock_guard lock(mutex_);
  listeners_.erase(job);
}

void MpiWorld::watch(int64_t rank, int64_t pid) {
  if (watched_.contains(rank) || isDead(rank)) return;
#ifdef SYS_pidfd_open
  // Where the system has no such files, mpirun alone knows of deaths.
  if (const long file = syscall(SYS_pidfd_open, static_cast<pid_t>(pid), 0); file >= 0)
    watched_[rank] = {.pid = pid, .end = static_cast<int>(file)};
#endif
}

// "4711 (name) T ...", where the name may have brackets of its own.
std::string MpiWorld::stateText(int64_t rank) const {
  const auto found = watched_.find(rank);
  if (found == watched_.end()) return {};
  std::string line;
  std::getline(std::ifstream(fmt::format("/proc/{}/stat", found->second.pid)), line);
  const size_t name_end = line.rfind(')');
  const char state = name_end + 2 < line.size() ? line[name_end + 2] : '?';
  return state == 'T' || state == 't' ? fmt::format("; its process {} is stopped", found->second.pid) : "";
}

void MpiWorld::lookForDeaths() {
  if (!said_to_be_dead_.empty()) takeMessages();  // what it said before
  for (const int64_t rank : std::exchange(said_to_be_dead_, {})) noteDead(rank);
  if (Clock::now() < looked_for_deaths_ + kDeathPause) return;
  looked_for_deaths_ = Clock::now();
  for (auto it = watched_.begin(); it != watched_.end();) {
    pollfd end = {.fd = it->second.end, .events = POLLIN, .revents = 0};
    if (::poll(&end, 1, 0) <= 0) {
      ++it;
      continue;
    }
    const int64_t rank = it->first;
    close(it->second.end);
    it = watched_.erase(it);
    takeMessages();  // what it said before
    noteDead(rank);
  }
}

void MpiWorld::noteDead(int64_t rank) {
  if (rank == facts_.rank || !dead_.insert(rank).second) return;
  for (const auto& [job, listener] : listeners_) listener->noteDeath(rank);
}

void MpiWorld::tell(int64_t rank, std::vector<std::byte> message) {
  if (isDead(rank) || is_finished_) return;
  outgoing_.push_back({.request = 0, .bytes = std::move(message)});
  Outgoing& out = outgoing_.back();
  const auto bytes = static_cast<int64_t>(out.bytes.size());
  require(functions_.send(functions_.context, out.bytes.data(), bytes, rank, kMessageTag, &out.request), "a send");
  if (isOver(out.request)) outgoing_.pop_back();
}

int64_t MpiWorld::tags(int64_t count) {
  if (next_tag_ + count > facts_.largest_tag) next_tag_ = 1;
  const int64_t first = next_tag_;
  next_tag_ += count;
  return first;
}

uint64_t MpiWorld::send(const void* data, int64_t bytes, int64_t rank, int64_t tag) {
  uint64_t request = 0;
  require(functions_.send(functions_.context, data, bytes, rank, tag, &request), "a send");
  return request;
}

uint64_t MpiWorld::receive(void* data, int64_t bytes, int64_t rank, int64_t tag) {
  uint64_t request = 0;
  require(functions_.receive(functions_.context, data, bytes, rank, tag, &request), "a receive");
  return request;
}

bool MpiWorld::isOver(uint64_t& request) {
  if (request == 0) return true;
  require(functions_.test(functions_.context, &request), "a test");
  return request == 0;
}

void MpiWorld::cancel(uint64_t& request) {
  require(functions_.cancel(functions_.context, &request), "calling a receive off");
}

void MpiWorld::endJob(const std::string& why) {
  std::fprintf(stderr, "tokamak: rank %lld: %s\n", static_cast<long long>(rank()), why.c_str());  // whoever is silent
  functions_.end_job(functions_.context, 4);
}

void MpiWorld::poll() {
  if (is_over_) return;
  polled_ = Clock::now();
  takeMessages();
  for (auto it = outgoing_.begin(); it != outgoing_.end();) it = isOver(it->request) ? outgoing_.erase(it) : ++it;
  lookForDeaths();
}

// Large ones take a while to arrive; those behind them wait.
void MpiWorld::takeMessages() {
  while (true) {
    MpiFunctions::Message message = {};
    require(functions_.probe(functions_.context, kMessageTag, &message), "a look for messages");
    if (message.is_found == 0) break;
    std::deque<Incoming>& queue = incoming_[message.source];
    queue.emplace_back();
    queue.back().bytes.resize(static_cast<size_t>(message.bytes));
    require(functions_.receive_message(functions_.context, message.handle, queue.back().bytes.data(), message.bytes,
                                       &queue.back().request),
            "the receive of a message");
  }
  for (auto& [rank, queue] : incoming_) {
    while (!queue.empty() && isOver(queue.front().request)) {
      const std::vector<std::byte> bytes = std::move(queue.front().bytes);
      queue.pop_front();
      deliver(rank, bytes);
    }
  }
}

void MpiWorld::deliver(int64_t rank, const std::vector<std::byte>& bytes) {
  MpiMessageReader message(bytes);
  const MpiJobKey& job = message.job();
  const auto listener = listeners_.find(job);
  if (listener != listeners_.end()) return listener->second->receive(rank, message);
  if (job.number >= made_[job.ranks]) early_[job].emplace_back(rank, bytes);
}

void MpiWorld::keepGoing() {
  std::unique_lock lock(mutex_);
  while (!stops_) {
    stopped_.wait_for(lock, kKeeperPause);
    if (stops_ || Clock::now() < polled_ + kKeeperPause) continue;
    try {
      poll();
    } catch (const Error&) {
      polled_ = Clock::now();  // whoever waits for something is told when he looks
    }
  }
}

}  // namespace tokamak
