#include "ranks_fixture.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <numeric>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "device/failure.h"
#include "ir/memory_kind.h"

namespace tokamak {

namespace {

constexpr uint8_t kUntouched = 0xEE;
constexpr int64_t kGuard = 64;  // bytes on each side of an output

}  // namespace

TestRank::TestRank(Communicator& communicator)
    : communicator_(communicator),
      rank_(communicator.rank()),
      device_(communicator.device()),
      current_(device_->createStream()) {}

// Works may read and write until their events.
TestRank::~TestRank() {
  for (const Posted& posted : posted_) device().waitDone(*posted.event);
  const std::unique_ptr<Event> end = device().createEvent();
  device().record(*end, current());
  device().waitDone(*end);
  for (const Block& block : blocks_) device().release(block.address, block.bytes, MemoryKind::Device, current());
}

void* TestRank::memory(int64_t bytes, uint8_t fill) {
  void* const address = device().allocate(bytes, MemoryKind::Device, current());
  blocks_.push_back({address, bytes});
  device().fill(current(), address, fill, bytes);
  return address;
}

void* TestRank::upload(std::span<const std::byte> bytes) {
  const auto count = static_cast<int64_t>(bytes.size());
  void* const address = memory(count);
  // The caller's bytes may be gone when the stream gets there.
  const auto kept = std::make_shared<Bytes>(bytes.begin(), bytes.end());
  device().copy(current(), address, kept->data(), count);
  device().callback(current(), [kept] {});
  return address;
}

Bytes TestRank::download(const void* from, int64_t bytes) {
  Bytes result(static_cast<size_t>(bytes));
  device().copy(current(), result.data(), from, bytes);
  device().synchronize(current());
  return result;
}

Posted TestRank::post(TeamCommunicator& team, std::span<const CommunicationRequest> group,
                      const std::vector<void*>& addresses) {
  return post(group.size() == 1 ? team.streamOf(group[0]) : team.stream(), team.prepare(group), addresses);
}

Posted TestRank::post(Stream& stream, std::shared_ptr<const Work> work, const std::vector<void*>& addresses) {
  Posted posted = {.work = std::move(work), .event = device().createEvent()};
  const std::unique_ptr<Event> before = device().createEvent();
  device().record(*before, current());
  device().wait(stream, *before);
  device().launch(stream, *posted.work, addresses);
  device().record(*posted.event, stream);
  posted_.push_back(posted);
  return posted;
}

void TestRank::wait(const Posted& posted) { device().wait(current(), *posted.event); }

void TestRank::start(TeamCommunicator& team, const Operation& operation, uint64_t seed) {
  const auto position = static_cast<size_t>(positionOf(operation.team, rank()));
  const CommunicationRequest& request = operation.requests[position];
  const BufferCounts counts = bufferCounts(request, operation.team, rank());
  const int64_t bytes = counts.output * sizeOf(request.dtype);
  Started started = {.operation = operation, .seed = seed};
  if (counts.input > 0) started.input = upload(inputOf(operation, position, seed));
  void* const guarded = memory(bytes + 2 * kGuard, kUntouched);
  started.output = static_cast<std::byte*>(guarded) + kGuard;
  started.posted = post(team, {&request, 1}, {started.input, counts.output > 0 ? started.output : nullptr});
  started_.push_back(std::move(started));
}

void TestRank::check() {
  for (const Started& started : std::exchange(started_, {})) {  // forgotten, also where one fails
    wait(started.posted);
    const auto position = static_cast<size_t>(positionOf(started.operation.team, rank()));
    const CommunicationRequest& request = started.operation.requests[position];
    const Bytes should_be = outputOf(started.operation, position, started.seed);
    const auto bytes = static_cast<int64_t>(should_be.size());
    const Bytes is = download(static_cast<std::byte*>(started.output) - kGuard, bytes + 2 * kGuard);
    const std::span<const std::byte> result(is.data() + kGuard, should_be.size());
    const std::string what =
        fmt::format("{} on rank {} of {}", describe(request), rank(), started.operation.team.size());
    EXPECT_EQ(firstDifference(request.dtype, result, should_be), "") << what;
    const auto isTouched = [](std::byte byte) { return byte != std::byte{kUntouched}; };
    EXPECT_FALSE(std::any_of(is.begin(), is.begin() + kGuard, isTouched)) << what << ": written before the output";
    EXPECT_FALSE(std::any_of(is.end() - kGuard, is.end(), isTouched)) << what << ": written behind the output";
    const Bytes input = inputOf(started.operation, position, started.seed);
    if (started.input != nullptr) {
      const Bytes now = download(started.input, static_cast<int64_t>(input.size()));
      EXPECT_EQ(firstDifference(request.dtype, now, input), "") << what << ": the input";
    }
  }
}

std::optional<CommunicationError> TestRank::failureOfPost(TeamCommunicator& team,
                                                          std::span<const CommunicationRequest> group,
                                                          const std::vector<void*>& addresses) {
  try {
    wait(post(team, group, addresses));
  } catch (const CommunicationError& error) {
    return error;
  }
  return failure();
}

std::optional<CommunicationError> TestRank::failure() {
  try {
    device().synchronize(current());
  } catch (...) {
    return communicationError(std::current_exception());
  }
  return {};
}

std::vector<TransportCase> transportCases() {
  if (std::getenv("TOKAMAK_TEST_NCCL") != nullptr) return ncclTransportCases();
  if (std::getenv("TOKAMAK_TEST_PEER") != nullptr) return peerTransportCases();
  std::vector<TransportCase> cases = mpiTransportCases();
  if (isUnderMpirun()) return cases;
  std::ranges::copy(localTransportCases(), std::back_inserter(cases));
  std::ranges::copy(ncclTransportCases(), std::back_inserter(cases));
  std::ranges::copy(peerTransportCases(), std::back_inserter(cases));
  return cases;
}

void TestJob::leave(int64_t rank) {
  const auto own = std::ranges::find_if(communicators_, [&](const auto& it) { return it && it->rank() == rank; });
  own->reset();
}

void TestJob::run(const std::function<void(TestRank&)>& body) {
  if (communicators_.empty()) return;
  const int64_t ranks = communicators_[0]->size();
  std::vector<std::thread> threads;
  for (const auto& communicator : communicators_) {
    threads.emplace_back([&body, &communicator, rank_number = communicator->rank()] {
      try {
        TestRank rank(*communicator);
        body(rank);
      } catch (const std::exception& error) {
        ADD_FAILURE() << "rank " << rank_number << ": " << error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (meet_) meet_(ranks);
}

std::vector<int64_t> firstRanks(int64_t n) {
  std::vector<int64_t> ranks(static_cast<size_t>(n));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

std::optional<CommunicationError> communicationError(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const CommunicationError& failure) {
    return failure;
  } catch (const SkippedError& skipped) {
    return communicationError(skipped.cause());
  } catch (const std::exception& other) {
    ADD_FAILURE() << "no failure of a communication: " << other.what();
  }
  return {};
}

CommunicationError failureOf(const std::function<void()>& call) {
  std::optional<CommunicationError> failure;
  try {
    call();
    ADD_FAILURE() << "nothing was raised";
  } catch (...) {
    failure = communicationError(std::current_exception());
  }
  return failure ? *failure : CommunicationError(CommunicationFault::Failed, -1, "none");
}

}  // namespace tokamak
