// A fake of NCCL for the fake driver: ranks are threads, or all of one, of this process. It is as strict as the real
// one where that matters: operations of a communicator run one after the other, in the order in which they were given,
// whatever their streams; those of a group run at the same time; what ranks mean differently never ends, but by an
// abort; a communicator that does not block is not ready when a call returns, and nothing of a group runs before
// somebody has asked twice how far it is. Sums of half types are rounded at each step, and maxima lose NaN.
//   TOKAMAK_FAKE_CUDA="fail=ncclAllReduce:3:2"   the function's second call fails
//   TOKAMAK_FAKE_CUDA="fail=ncclAsync:6:3"       the third group that runs hangs, and says so asynchronously
#include <algorithm>
#include <array>
#include <atomic>
#include <climits>
#include <cmath>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/half.h"
#include "fake_graph.h"
#include "fake_memory.h"
#include "fake_settings.h"
#include "fake_stream.h"

extern "C" int cuCtxGetCurrent(void** context);

namespace {

constexpr int kInvalidArgument = 4;
constexpr int kInvalidUsage = 5;
constexpr int kInProgress = 7;
constexpr int kSum = 0;
constexpr int kProd = 1;
constexpr int kMax = 2;

struct UniqueId {
  char bytes[128];
};

struct Config {
  size_t size;
  unsigned magic;
  unsigned version;
  int blocking;
};

enum class Kind : uint8_t { AllReduce, Reduce, ReduceScatter, AllGather, Broadcast, Send, Receive };

struct Operation {
  Kind kind = Kind::AllReduce;
  const void* from = nullptr;
  void* to = nullptr;
  size_t count = 0;
  int dtype = 0;
  int reduction = 0;
  int peer = 0;         // or root
  size_t in_group = 1;  // collectives
  bool isTransfer() const { return kind == Kind::Send || kind == Kind::Receive; }
};

// Where the members of an operation meet.
struct Meeting {
  explicit Meeting(size_t members) : operations(members), is_read(members), is_written(members) {}
  std::vector<std::optional<Operation>> operations;
  std::vector<char> is_read;     // all that the member reads
  std::vector<char> is_written;  // its result is there
};

struct Clique {
  std::mutex mutex;
  std::condition_variable changed;
  size_t size = 0;
  std::vector<int> devices;  // of members that have come; -1
  size_t present = 0;
  bool is_duplicate = false;
  std::map<int64_t, Meeting> collectives;
  std::map<std::pair<int, int>, std::map<int64_t, Meeting>> transfers;  // sender and receiver
};

struct Launch {
  std::vector<Operation> operations;
  fake::Stream* stream = nullptr;
  int64_t number = 0;  // of the communicator
};

struct Communicator {
  std::shared_ptr<Clique> clique;
  int rank = 0;
  bool is_blocking = true;
  std::atomic<int> async_error = 0;
  std::atomic<bool> is_aborted = false;
  // Guarded by the clique's mutex.
  std::optional<Launch> pending;  // until somebody has asked for it
  int questions = 0;              // since
  int64_t given = 0;              // groups
  int64_t over = 0;
  int64_t collectives = 0;
  std::map<std::pair<int, int>, int64_t> transfers;
};

std::mutex cliques_mutex;
std::map<std::string, std::shared_ptr<Clique>> cliques;
std::atomic<int64_t> live_communicators = 0;
std::atomic<int64_t> ids = 0;

thread_local int group_depth = 0;
thread_local std::vector<std::pair<Communicator*, std::pair<fake::Stream*, Operation>>> group;

// As abort leaves them: works that are still queued see that.
using Held = std::shared_ptr<Communicator>;
std::mutex handles_mutex;
std::map<void*, Held> handles;

Held held(void* handle) {
  const std::lock_guard lock(handles_mutex);
  const auto found = handles.find(handle);
  return found == handles.end() ? nullptr : found->second;
}

size_t sizeOf(int dtype) {
  switch (dtype) {
    case 2:
    case 7: return 4;
    case 4:
    case 8: return 8;
    case 6:
    case 9: return 2;
    default: return 1;
  }
}

// Integers wrap.
template <class T>
T combined(T a, T b, int reduction) {
  using Wide = std::conditional_t<std::is_integral_v<T>, uint64_t, T>;
  if (reduction == kSum) return static_cast<T>(static_cast<Wide>(a) + static_cast<Wide>(b));
  if (reduction == kProd) return static_cast<T>(static_cast<Wide>(a) * static_cast<Wide>(b));
  if constexpr (std::is_floating_point_v<T>) return reduction == kMax ? std::fmax(a, b) : std::fmin(a, b);
  return reduction == kMax ? std::max(a, b) : std::min(a, b);
}

template <class Half, class Narrow>
void combineHalves(std::byte* sum, const std::byte* term, size_t count, int reduction, const Narrow& narrow) {
  for (size_t i = 0; i < count; ++i) {
    Half a;
    Half b;
    std::memcpy(&a, sum + 2 * i, 2);
    std::memcpy(&b, term + 2 * i, 2);
    a = narrow(combined(toFloat(a), toFloat(b), reduction));
    std::memcpy(sum + 2 * i, &a, 2);
  }
}

template <class T>
void combineAll(std::byte* sum, const std::byte* term, size_t count, int reduction) {
  for (size_t i = 0; i < count; ++i) {
    T a;
    T b;
    std::memcpy(&a, sum + sizeof(T) * i, sizeof(T));
    std::memcpy(&b, term + sizeof(T) * i, sizeof(T));
    a = combined(a, b, reduction);
    std::memcpy(sum + sizeof(T) * i, &a, sizeof(T));
  }
}

void combine(std::byte* sum, const std::byte* term, size_t count, int dtype, int reduction) {
  switch (dtype) {
    case 1: return combineAll<uint8_t>(sum, term, count, reduction);
    case 2: return combineAll<int32_t>(sum, term, count, reduction);
    case 4: return combineAll<int64_t>(sum, term, count, reduction);
    case 6: return combineHalves<tokamak::Half>(sum, term, count, reduction, tokamak::toHalf);
    case 7: return combineAll<float>(sum, term, count, reduction);
    case 8: return combineAll<double>(sum, term, count, reduction);
    case 9: return combineHalves<tokamak::BFloat16>(sum, term, count, reduction, tokamak::toBFloat16);
    default: return;
  }
}

bool areOne(const Operation& a, const Operation& b) {
  if (a.count != b.count || a.dtype != b.dtype) return false;
  if (a.isTransfer()) return a.kind != b.kind;
  const bool has_root = a.kind == Kind::Reduce || a.kind == Kind::Broadcast;
  return a.kind == b.kind && a.reduction == b.reduction && a.in_group == b.in_group && (!has_root || a.peer == b.peer);
}

// What the member gets: read from the others.
std::vector<std::byte> resultOf(const Meeting& meeting, size_t member) {
  const Operation& own = *meeting.operations[member];
  const size_t bytes = own.count * sizeOf(own.dtype);
  const auto source = [&](size_t of) { return static_cast<const std::byte*>(meeting.operations[of]->from); };
  const auto take = [](const std::byte* from, size_t count) { return std::vector<std::byte>(from, from + count); };
  switch (own.kind) {
    case Kind::Send: return {};
    case Kind::Receive: return take(source(0), bytes);
    case Kind::Broadcast: return take(source(static_cast<size_t>(own.peer)), bytes);
    case Kind::AllGather: {
      std::vector<std::byte> all;
      for (size_t of = 0; of < meeting.operations.size(); ++of) all.insert(all.end(), source(of), source(of) + bytes);
      return all;
    }
    default: break;
  }
  if (own.kind == Kind::Reduce && static_cast<size_t>(own.peer) != member) return {};
  const size_t offset = own.kind == Kind::ReduceScatter ? member * bytes : 0;
  std::vector<std::byte> sum = take(source(0) + offset, bytes);
  for (size_t of = 1; of < meeting.operations.size(); ++of)
    combine(sum.data(), source(of) + offset, own.count, own.dtype, own.reduction);
  return sum;
}

struct Visit {
  Meeting* meeting = nullptr;
  size_t member = 0;
  std::function<void()> forget;
};

Visit meet(Communicator& communicator, const Operation& operation) {
  Clique& clique = *communicator.clique;
  Visit visit = {.member = static_cast<size_t>(communicator.rank), .forget = {}};
  if (operation.isTransfer()) {
    const std::pair<int, int> ends = operation.kind == Kind::Send ? std::pair(communicator.rank, operation.peer)
                                                                  : std::pair(operation.peer, communicator.rank);
    const int64_t number = communicator.transfers[ends]++;
    visit.member = operation.kind == Kind::Send ? 0 : 1;
    visit.meeting = &clique.transfers[ends].try_emplace(number, 2).first->second;
    visit.forget = [&clique, ends, number] { clique.transfers[ends].erase(number); };
  } else {
    const int64_t number = communicator.collectives++;
    visit.meeting = &clique.collectives.try_emplace(number, clique.size).first->second;
    visit.forget = [&clique, number] { clique.collectives.erase(number); };
  }
  visit.meeting->operations[visit.member] = operation;
  return visit;
}

bool isAgreed(const Meeting& meeting) {
  return std::ranges::all_of(meeting.operations, [&](const auto& operation) {
    return operation && meeting.operations[0] &&
           (&operation == meeting.operations.data() || areOne(*meeting.operations[0], *operation));
  });
}

bool areAll(const std::vector<char>& flags) {
  return std::ranges::all_of(flags, [](char flag) { return flag != 0; });
}

// On the stream's thread: the kernel.
void run(const Held& communicator, const Launch& launch) {
  Clique& clique = *communicator->clique;
  std::unique_lock lock(clique.mutex);
  const auto waitFor = [&](const auto& is_over) {
    clique.changed.wait(lock, [&] { return communicator->is_aborted.load() || is_over(); });
    return !communicator->is_aborted.load();
  };
  const auto runAll = [&] {
    if (!waitFor([&] { return communicator->over == launch.number; })) return;
    if (const int error = fake::faultOf("ncclAsync"); error != 0) {
      communicator->async_error.store(error);
      waitFor([] { return false; });
      return;
    }
    std::vector<Visit> visits;
    for (const Operation& operation : launch.operations) visits.push_back(meet(*communicator, operation));
    clique.changed.notify_all();
    std::vector<std::vector<std::byte>> results;
    for (const Visit& visit : visits) {
      if (!waitFor([&] { return isAgreed(*visit.meeting); })) return;
      lock.unlock();
      results.push_back(resultOf(*visit.meeting, visit.member));
      lock.lock();
      visit.meeting->is_read[visit.member] = 1;
      clique.changed.notify_all();
    }
    for (size_t i = 0; i < visits.size(); ++i) {
      if (!waitFor([&] { return areAll(visits[i].meeting->is_read); })) return;
      if (!results[i].empty()) std::memcpy(launch.operations[i].to, results[i].data(), results[i].size());
      visits[i].meeting->is_written[visits[i].member] = 1;
      if (areAll(visits[i].meeting->is_written)) visits[i].forget();
    }
  };
  runAll();
  ++communicator->over;
  clique.changed.notify_all();
}

bool isReachable(const Operation& operation) {
  const size_t bytes = operation.count * sizeOf(operation.dtype);
  const bool reads = operation.kind != Kind::Receive;
  const bool is_from_legal = !reads || fake::isLegal(reinterpret_cast<uint64_t>(operation.from), bytes, false);
  const bool writes = operation.kind != Kind::Send && operation.kind != Kind::Reduce;
  return is_from_legal && (!writes || fake::isLegal(reinterpret_cast<uint64_t>(operation.to), bytes, false));
}

void launchNow(const Held& communicator) {  // with the clique's mutex held
  if (!communicator->pending) return;
  Launch launch = *std::move(communicator->pending);
  communicator->pending.reset();
  fake::Stream* const stream = launch.stream;
  stream->push([communicator, launch = std::move(launch)] { run(communicator, launch); });
}

int add(const char* function, void* handle, void* stream, const Operation& operation);  // below

int stateOf(const Held& communicator) {  // with the clique's mutex held
  Clique& clique = *communicator->clique;
  if (communicator->async_error.load() != 0) return communicator->async_error.load();
  if (clique.is_duplicate) return kInvalidUsage;
  if (clique.present < clique.size) return kInProgress;
  if (communicator->pending && ++communicator->questions < 2) return kInProgress;
  launchNow(communicator);
  return 0;
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the names are NCCL's
extern "C" {

int64_t fakeNcclLiveCommunicators() { return live_communicators.load(); }

int ncclGetVersion(int* version) {
  *version = fake::settings().nccl_version;
  return fake::faultOf("ncclGetVersion");
}

const char* ncclGetErrorString(int result) {
  switch (result) {
    case 0: return "no error";
    case 2: return "unhandled system error";
    case 3: return "internal error";
    case kInvalidArgument: return "invalid argument";
    case kInvalidUsage: return "invalid usage";
    case 6: return "remote process exited or there was a network error";
    case kInProgress: return "NCCL operation in progress";
    default: return nullptr;
  }
}

const char* ncclGetLastError(void*) { return "the fake says so"; }

int ncclGetUniqueId(UniqueId* id) {
  std::memset(id, 0, sizeof(*id));
  const std::string text = "fake " + std::to_string(ids++);
  std::copy(text.begin(), text.end(), id->bytes);
  return fake::faultOf("ncclGetUniqueId");
}

int ncclCommInitRankConfig(void** made, int ranks, UniqueId id, int rank, const Config* config) {
  if (const int fault = fake::faultOf("ncclCommInitRankConfig"); fault != 0) return fault;
  void* context = nullptr;
  if (cuCtxGetCurrent(&context) != 0 || context == nullptr) return 1;
  if (config->magic != 0xcafebeef || config->size < sizeof(Config) || config->version < 21800) return kInvalidArgument;
  if (rank < 0 || rank >= ranks) return kInvalidArgument;
  const auto communicator = std::make_shared<Communicator>();
  {
    const std::lock_guard lock(cliques_mutex);
    auto& clique = cliques[std::string(id.bytes)];
    if (clique == nullptr) clique = std::make_shared<Clique>();
    communicator->clique = clique;
  }
  communicator->rank = rank;
  communicator->is_blocking = config->blocking != 0;
  Clique& clique = *communicator->clique;
  std::unique_lock lock(clique.mutex);
  clique.size = static_cast<size_t>(ranks);
  const int device = static_cast<fake::Context*>(context)->device;
  if (std::ranges::find(clique.devices, device) != clique.devices.end()) clique.is_duplicate = true;
  clique.devices.push_back(device);
  ++clique.present;
  clique.changed.notify_all();
  ++live_communicators;
  *made = communicator.get();
  {
    const std::lock_guard inner(handles_mutex);
    handles[communicator.get()] = communicator;
  }
  if (!communicator->is_blocking) return kInProgress;
  clique.changed.wait(lock, [&] { return clique.present == clique.size; });
  return clique.is_duplicate ? kInvalidUsage : 0;
}

int ncclCommGetAsyncError(void* handle, int* error) {
  const Held communicator = held(handle);
  if (communicator == nullptr) return kInvalidArgument;
  const std::lock_guard lock(communicator->clique->mutex);
  *error = stateOf(communicator);
  return fake::faultOf("ncclCommGetAsyncError");
}

int ncclCommAbort(void* handle) {
  const Held communicator = held(handle);
  if (communicator == nullptr) return kInvalidArgument;
  {
    const std::lock_guard lock(handles_mutex);
    handles.erase(handle);
  }
  {
    const std::lock_guard lock(communicator->clique->mutex);
    communicator->is_aborted.store(true);
    communicator->pending.reset();
    communicator->clique->changed.notify_all();
  }
  --live_communicators;
  return 0;
}

int ncclGroupStart() {
  ++group_depth;
  return fake::faultOf("ncclGroupStart");
}

int ncclGroupEnd() {
  if (group_depth == 0) return kInvalidUsage;
  if (--group_depth > 0) return 0;
  const auto calls = std::exchange(group, {});
  int result = fake::faultOf("ncclGroupEnd");
  if (result != 0) return result;
  std::vector<Communicator*> order;
  for (const auto& [communicator, call] : calls)
    if (std::ranges::find(order, communicator) == order.end()) order.push_back(communicator);
  for (Communicator* const one : order) {
    const Held communicator = held(one);
    const std::lock_guard lock(one->clique->mutex);
    if (one->pending) return kInvalidUsage;  // the one before was not waited for
    Launch launch;
    launch.number = one->given++;
    for (const auto& [of, call] : calls) {
      if (of != one) continue;
      launch.stream = call.first;
      launch.operations.push_back(call.second);
    }
    const auto collectives = std::ranges::count_if(launch.operations, [](const auto& it) { return !it.isTransfer(); });
    for (Operation& operation : launch.operations) operation.in_group = static_cast<size_t>(collectives);
    one->pending = std::move(launch);
    one->questions = 0;
    if (one->is_blocking)
      launchNow(communicator);
    else
      result = kInProgress;
  }
  return result;
}

int ncclAllReduce(const void* from, void* to, size_t count, int dtype, int reduction, void* communicator,
                  void* stream) {
  return add("ncclAllReduce", communicator, stream, {Kind::AllReduce, from, to, count, dtype, reduction, 0});
}

int ncclReduce(const void* from, void* to, size_t count, int dtype, int reduction, int root, void* communicator,
               void* stream) {
  return add("ncclReduce", communicator, stream, {Kind::Reduce, from, to, count, dtype, reduction, root});
}

int ncclReduceScatter(const void* from, void* to, size_t count, int dtype, int reduction, void* communicator,
                      void* stream) {
  return add("ncclReduceScatter", communicator, stream, {Kind::ReduceScatter, from, to, count, dtype, reduction, 0});
}

int ncclAllGather(const void* from, void* to, size_t count, int dtype, void* communicator, void* stream) {
  return add("ncclAllGather", communicator, stream, {Kind::AllGather, from, to, count, dtype, 0, 0});
}

int ncclBroadcast(const void* from, void* to, size_t count, int dtype, int root, void* communicator, void* stream) {
  return add("ncclBroadcast", communicator, stream, {Kind::Broadcast, from, to, count, dtype, 0, root});
}

int ncclSend(const void* from, size_t count, int dtype, int peer, void* communicator, void* stream) {
  return add("ncclSend", communicator, stream, {Kind::Send, from, nullptr, count, dtype, 0, peer});
}

int ncclRecv(void* to, size_t count, int dtype, int peer, void* communicator, void* stream) {
  return add("ncclRecv", communicator, stream, {Kind::Receive, nullptr, to, count, dtype, 0, peer});
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)

namespace {

// A call outside of a group is a group of its own.
int add(const char* function, void* handle, void* stream, const Operation& operation) {
  if (const int fault = fake::faultOf(function); fault != 0) return fault;
  const Held communicator = held(handle);
  if (communicator == nullptr || stream == nullptr) return kInvalidArgument;
  auto* const queue = static_cast<fake::Stream*>(stream);
  if (operation.count > 0 && !isReachable(operation)) return kInvalidArgument;
  {
    const std::lock_guard lock(communicator->clique->mutex);
    if (communicator->clique->present < communicator->clique->size) return kInvalidArgument;  // not ready
    if (operation.peer < 0 || operation.peer >= static_cast<int>(communicator->clique->size)) return kInvalidArgument;
  }
  group.push_back({communicator.get(), {queue, operation}});
  if (group_depth > 0) return 0;
  ++group_depth;
  return ncclGroupEnd();
}

}  // namespace
