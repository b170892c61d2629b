#include "dist/sockets/bootstrap.h"

#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/require.h"
#include "dist/communication_error.h"

namespace tokamak {

namespace {

class FunctionBootstrap final : public Bootstrap {
 public:
  FunctionBootstrap(int64_t rank, int64_t size, ExchangeFunction exchange)
      : rank_(rank), size_(size), exchange_(std::move(exchange)) {}

  int64_t rank() const override { return rank_; }
  int64_t size() const override { return size_; }
  std::vector<std::vector<std::byte>> exchange(std::span<const std::byte> bytes) override {
    std::vector<std::vector<std::byte>> theirs = exchange_(bytes);
    TK_REQUIRE(static_cast<int64_t>(theirs.size()) == size_, Usage,
               "bootstrap: the exchange gave the bytes of {} ranks; there are {}", theirs.size(), size_);
    return theirs;
  }

 private:
  const int64_t rank_;
  const int64_t size_;
  const ExchangeFunction exchange_;
};

// Where the threads of a job meet, round by round.
class ThreadMeeting {
 public:
  ThreadMeeting(size_t size, std::chrono::milliseconds timeout) : given_(size), timeout_(timeout) {}

  std::vector<std::vector<std::byte>> exchange(size_t rank, std::span<const std::byte> bytes) {
    const auto deadline = std::chrono::steady_clock::now() + timeout_;
    std::unique_lock lock(mutex_);
    const auto isFree = [&] { return !given_[rank].has_value(); };
    changed_.wait_until(lock, deadline, isFree);  // those of the last round take their time
    given_[rank].emplace(bytes.begin(), bytes.end());
    changed_.notify_all();
    while (true) {
      size_t missing = 0;
      while (missing < given_.size() && (given_[missing] || taken_ > 0)) ++missing;
      if (missing == given_.size()) break;
      if (changed_.wait_until(lock, deadline) != std::cv_status::timeout) continue;
      raiseOf({CommunicationFault::TimedOut, static_cast<int64_t>(missing),
               fmt::format("bootstrap: rank {} did not come within {} ms", missing, timeout_.count())});
    }
    std::vector<std::vector<std::byte>> theirs;
    for (const auto& given : given_) theirs.push_back(*given);
    if (++taken_ == given_.size()) {
      for (auto& given : given_) given.reset();
      taken_ = 0;
      changed_.notify_all();
    }
    return theirs;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::optional<std::vector<std::byte>>> given_;
  const std::chrono::milliseconds timeout_;
  size_t taken_ = 0;  // by how many, in this round
};

}  // namespace

Bootstrap::~Bootstrap() = default;

std::unique_ptr<Bootstrap> functionBootstrap(int64_t rank, int64_t size, ExchangeFunction exchange) {
  TK_REQUIRE(exchange != nullptr, Usage, "bootstrap: no function was given that exchanges bytes");
  TK_REQUIRE(rank >= 0 && rank < size, Usage, "bootstrap: rank {} of a job of {}; ranks are numbered from 0 on", rank,
             size);
  return std::make_unique<FunctionBootstrap>(rank, size, std::move(exchange));
}

std::vector<std::unique_ptr<Bootstrap>> threadBootstraps(int64_t size, std::chrono::milliseconds timeout) {
  TK_REQUIRE(size > 0, Usage, "bootstrap: a job of {} ranks; it has at least one", size);
  const auto meeting = std::make_shared<ThreadMeeting>(static_cast<size_t>(size), timeout);
  std::vector<std::unique_ptr<Bootstrap>> made;
  for (int64_t rank = 0; rank < size; ++rank)
    made.push_back(functionBootstrap(rank, size, [meeting, rank](std::span<const std::byte> bytes) {
      return meeting->exchange(static_cast<size_t>(rank), bytes);
    }));
  return made;
}

}  // namespace tokamak
