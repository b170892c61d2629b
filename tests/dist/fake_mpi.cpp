#include "fake_mpi.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace tokamak {

FakeMpi::FakeMpi(int64_t size, const FakeMpiOptions& options) : options_(options) {
  for (int64_t rank = 0; rank < size; ++rank) {
    auto process = std::make_unique<Process>();
    process->all = this;
    process->rank = rank;
    process->functions = {.version = MpiFunctions::kVersion,
                          .context = process.get(),
                          .start = start,
                          .finish = finish,
                          .send = send,
                          .receive = receive,
                          .probe = probe,
                          .receive_message = receiveMessage,
                          .test = test,
                          .cancel = cancel,
                          .end_job = endJob,
                          .describe = describe};
    processes_.push_back(std::move(process));
  }
}

std::vector<std::shared_ptr<MpiWorld>> FakeMpi::worlds() const {
  std::vector<std::shared_ptr<MpiWorld>> worlds;
  for (const auto& process : processes_) worlds.push_back(std::make_shared<MpiWorld>(process->functions));
  return worlds;
}

void FakeMpi::fail(int64_t rank, Call call, int32_t error) {
  const std::lock_guard lock(mutex_);
  processes_[static_cast<size_t>(rank)]->failures[call] = error;
}

void FakeMpi::stop(int64_t rank) {
  const std::lock_guard lock(mutex_);
  processes_[static_cast<size_t>(rank)]->is_stopped = true;
}

bool FakeMpi::hasEnded(int64_t rank) {
  const std::lock_guard lock(mutex_);
  return processes_[static_cast<size_t>(rank)]->has_ended;
}

int32_t FakeMpi::failureOf(const Process& process, Call call) {
  const auto found = process.failures.find(call);
  return found == process.failures.end() ? 0 : found->second;
}

uint64_t FakeMpi::add(Request request) {
  const uint64_t handle = next_request_++;
  requests_.emplace(handle, std::move(request));
  return handle;
}

void FakeMpi::move(uint64_t sent, uint64_t received) {
  Request& from = requests_.at(sent);
  Request& to = requests_.at(received);
  const void* const data = from.from != nullptr ? from.from : from.eager.data();
  if (from.bytes > 0) std::memcpy(to.to, data, static_cast<size_t>(from.bytes));
  to.is_over = true;
  if (from.from == nullptr)
    requests_.erase(sent);  // whose sender has forgotten it
  else
    from.is_over = true;
}

int32_t FakeMpi::start(void* context, MpiFunctions::World* world) {
  const Process& process = processOf(context);
  const std::lock_guard lock(process.all->mutex_);
  *world = {.rank = process.rank,
            .size = static_cast<int64_t>(process.all->processes_.size()),
            .largest_tag = process.all->options_.largest_tag,
            .has_all_threads = process.all->options_.has_all_threads ? 1 : 0,
            .name = "a fake MPI"};
  return failureOf(process, Call::Start);
}

int32_t FakeMpi::finish(void* /*context*/) { return 0; }

int32_t FakeMpi::send(void* context, const void* data, int64_t bytes, int64_t rank, int64_t tag, uint64_t* request) {
  const Process& process = processOf(context);
  FakeMpi& all = *process.all;
  const std::lock_guard lock(all.mutex_);
  if (const int32_t error = failureOf(process, Call::Send); error != 0) return error;
  Request sent = {.rank = process.rank, .bytes = bytes, .peer = rank, .tag = tag, .eager = {}};
  const bool is_eager = bytes <= all.options_.eager_bytes;
  if (is_eager) {
    const auto* const first = static_cast<const std::byte*>(data);
    sent.eager.assign(first, first + bytes);
  } else {
    sent.from = data;
  }
  const uint64_t handle = all.add(std::move(sent));
  if (process.is_stopped) {
    *request = handle;
    return 0;
  }
  *request = is_eager ? 0 : handle;
  Process& receiver = *all.processes_[static_cast<size_t>(rank)];
  const auto fits = [&](uint64_t posted) {
    const Request& it = all.requests_.at(posted);
    return it.peer == process.rank && it.tag == tag;
  };
  const auto posted = std::ranges::find_if(receiver.posted, fits);
  if (posted == receiver.posted.end()) {
    receiver.arrived.push_back(handle);
    return 0;
  }
  if (is_eager || !receiver.is_stopped) all.move(handle, *posted);  // else it has begun, and does not end
  receiver.posted.erase(posted);
  return 0;
}

int32_t FakeMpi::receive(void* context, void* data, int64_t bytes, int64_t rank, int64_t tag, uint64_t* request) {
  Process& process = processOf(context);
  FakeMpi& all = *process.all;
  const std::lock_guard lock(all.mutex_);
  if (const int32_t error = failureOf(process, Call::Receive); error != 0) return error;
  *request = all.add({.rank = process.rank, .to = data, .bytes = bytes, .peer = rank, .tag = tag, .eager = {}});
  const auto fits = [&](uint64_t sent) {
    const Request& it = all.requests_.at(sent);
    return it.rank == rank && it.tag == tag;
  };
  const auto sent = std::ranges::find_if(process.arrived, fits);
  if (sent == process.arrived.end()) {
    process.posted.push_back(*request);
    return 0;
  }
  all.move(*sent, *request);
  process.arrived.erase(sent);
  return 0;
}

int32_t FakeMpi::probe(void* context, int64_t tag, MpiFunctions::Message* message) {
  Process& process = processOf(context);
  FakeMpi& all = *process.all;
  const std::lock_guard lock(all.mutex_);
  *message = {};
  if (process.is_stopped) return 0;
  const auto sent =
      std::ranges::find_if(process.arrived, [&](uint64_t each) { return all.requests_.at(each).tag == tag; });
  if (sent == process.arrived.end()) return 0;
  const Request& found = all.requests_.at(*sent);
  *message = {.is_found = 1, .source = found.rank, .bytes = found.bytes, .handle = *sent};
  process.arrived.erase(sent);
  return 0;
}

int32_t FakeMpi::receiveMessage(void* context, uint64_t handle, void* data, int64_t bytes, uint64_t* request) {
  const Process& process = processOf(context);
  FakeMpi& all = *process.all;
  const std::lock_guard lock(all.mutex_);
  *request = all.add({.rank = process.rank, .to = data, .bytes = bytes, .eager = {}});
  all.move(handle, *request);
  return 0;
}

int32_t FakeMpi::test(void* context, uint64_t* request) {
  const Process& process = processOf(context);
  FakeMpi& all = *process.all;
  const std::lock_guard lock(all.mutex_);
  if (const int32_t error = failureOf(process, Call::Test); error != 0) return error;
  if (*request == 0 || process.is_stopped || !all.requests_.at(*request).is_over) return 0;
  all.requests_.erase(*request);
  *request = 0;
  return 0;
}

int32_t FakeMpi::cancel(void* context, uint64_t* request) {
  Process& process = processOf(context);
  FakeMpi& all = *process.all;
  const std::lock_guard lock(all.mutex_);
  if (*request == 0 || process.posted.remove(*request) == 0) return 0;
  all.requests_.erase(*request);
  *request = 0;
  return 0;
}

void FakeMpi::endJob(void* context, int32_t /*code*/) {
  Process& process = processOf(context);
  const std::lock_guard lock(process.all->mutex_);
  process.has_ended = true;
}

void FakeMpi::describe(void* /*context*/, int32_t error, char* text, int64_t capacity) {
  fmt::format_to_n(text, static_cast<size_t>(capacity - 1), "error {} of the fake", error);
}

}  // namespace tokamak
