// Compilations side by side, and what a terminal shows meanwhile.
#include <atomic>
#include <cstdlib>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/require.h"
#include "error_of.h"
#include "toolchain/compile_queue.h"
#include "toolchain/shared_compilation.h"

namespace tokamak {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

using Value = SharedCompilation::Value;

// What a test asks a queue for, and gets.
class Queued {
 public:
  explicit Queued(const CompileQueueOptions& options) : queue_(std::make_shared<CompileQueue>(options)) {}
  std::shared_ptr<SharedCompilation> add(std::function<int(const std::stop_token&)> make) const {
    return std::make_shared<SharedCompilation>(queue_,
                                               [make = std::move(make)](const std::stop_token& given_up) -> Value {
                                                 return std::make_shared<const int>(make(given_up));
                                               });
  }
  CompileQueue& queue() { return *queue_; }

 private:
  std::shared_ptr<CompileQueue> queue_;
};

int numberOf(SharedCompilation& compilation) { return *std::static_pointer_cast<const int>(compilation.value()); }

// As a compiler that is killed.
int untilGivenUp(const std::stop_token& given_up) {
  while (!given_up.stop_requested()) std::this_thread::sleep_for(1ms);
  TK_RAISE(Cancelled, "it was given up");
}

TEST(CompileQueue, MakesThingsSideBySide) {
  const Queued queue({.threads = 3});
  std::atomic<int> running = 0;
  // Each of them waits for the others.
  std::vector<std::shared_ptr<SharedCompilation>> compilations;
  for (int i = 0; i < 3; ++i) {
    compilations.push_back(queue.add([&running, i](const std::stop_token&) {
      ++running;
      for (int turn = 0; running < 3 && turn < 5000; ++turn) std::this_thread::sleep_for(1ms);
      return running == 3 ? i : -1;
    }));
  }
  for (int i = 0; i < 3; ++i) EXPECT_EQ(numberOf(*compilations[static_cast<size_t>(i)]), i);
}

TEST(CompileQueue, HandsFailuresToThoseWhoWait) {
  const Queued queue({.threads = 1});
  const auto failing = queue.add([](const std::stop_token&) -> int { TK_RAISE(Compile, "it does not compile"); });
  const auto next = queue.add([](const std::stop_token&) { return 7; });
  EXPECT_EQ(numberOf(*next), 7);
  EXPECT_TRUE(failing->hasFailed());
  for (int i = 0; i < 2; ++i) EXPECT_EQ(errorOf([&] { failing->value(); }).message(), "it does not compile");
}

TEST(CompileQueue, DropsWhatHasNotBegunWhenItEndsAndAllThatComesLater) {
  Queued queue({.threads = 1});
  std::atomic<int> made = 0;
  std::vector<std::shared_ptr<SharedCompilation>> compilations = {queue.add(untilGivenUp)};
  for (int i = 0; i < 100; ++i) compilations.push_back(queue.add([&](const std::stop_token&) { return ++made; }));
  // Whoever waits when it ends is told.
  std::atomic<ErrorCode> told = ErrorCode::Internal;
  std::jthread waits([&] { told = errorOf([&] { compilations.front()->value(); }).code(); });
  std::this_thread::sleep_for(20ms);
  queue.queue().end(10s);
  waits.join();
  compilations.push_back(queue.add([&](const std::stop_token&) { return ++made; }));
  EXPECT_EQ(made, 0);
  EXPECT_EQ(told, ErrorCode::Cancelled);
  for (const auto& compilation : compilations) {
    const Error error = errorOf([&] { compilation->value(); });
    EXPECT_EQ(error.code(), ErrorCode::Cancelled);
    EXPECT_EQ(error.message(), "a kernel was not compiled: the process exits, or the kernel's device was given up");
  }
}

TEST(SharedCompilations, AreGivenUpByTheLastWhoWaits) {
  const Queued queue({.threads = 1});
  std::atomic<int> begun = 0;
  const auto compilation =
      queue.add([&](const std::stop_token& given_up) { return ++begun == 1 ? untilGivenUp(given_up) : 9; });
  std::stop_source first;
  compilation->join();
  compilation->join();
  while (begun == 0) std::this_thread::sleep_for(1ms);
  const std::jthread asks([&] {
    std::this_thread::sleep_for(20ms);
    first.request_stop();
  });
  EXPECT_FALSE(compilation->waitFor(10s, first.get_token()));
  compilation->giveUp();
  // It would be begun again if it had ended.
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(compilation->waitFor(20ms, {}));
  EXPECT_EQ(begun, 1) << "one of two gave up";
  compilation->giveUp();
  // Whoever wants it later begins it again.
  EXPECT_EQ(numberOf(*compilation), 9);
  EXPECT_EQ(begun, 2);
  EXPECT_FALSE(compilation->hasFailed());
}

TEST(SharedCompilations, ThatEndNeverthelessKeepWhatTheyMade) {
  const Queued queue({.threads = 1});
  std::atomic<int> begun = 0;
  const auto compilation = queue.add([&](const std::stop_token& given_up) {
    ++begun;
    while (!given_up.stop_requested()) std::this_thread::sleep_for(1ms);
    return 4;
  });
  compilation->join();
  while (begun == 0) std::this_thread::sleep_for(1ms);
  compilation->giveUp();
  EXPECT_EQ(numberOf(*compilation), 4);
  EXPECT_EQ(begun, 1);
}

TEST(SharedCompilations, AreOneForOneTextUnlessItFailed) {
  const auto queue = std::make_shared<CompileQueue>(CompileQueueOptions{.threads = 2});
  SharedCompilations known;
  const auto fails = [](const std::stop_token&) -> Value { TK_RAISE(Compile, "it does not compile"); };
  const auto makes = [](const std::stop_token&) -> Value { return std::make_shared<const int>(1); };
  const auto first = known.get("a", queue, fails);
  EXPECT_NE(known.get("b", queue, makes), first);
  EXPECT_THROW(first->value(), Error);
  const auto second = known.get("a", queue, makes);
  EXPECT_NE(second, first);
  EXPECT_EQ(known.get("a", queue, fails), second);
  for (int i = 0; i < 300; ++i) known.get("text " + std::to_string(i), queue, makes);
  EXPECT_EQ(known.get("a", queue, fails), second) << "held, so known";
}

// Many threads want one value, and some of them lose patience.
TEST(SharedCompilations, ServeThoseWhoStay) {
  const Queued queue({.threads = 2});
  for (int round = 0; round < 20; ++round) {
    const auto compilation = queue.add([](const std::stop_token& given_up) {
      for (int turn = 0; turn < 5; ++turn) {
        if (given_up.stop_requested()) untilGivenUp(given_up);
        std::this_thread::sleep_for(1ms);
      }
      return 3;
    });
    std::atomic<int> served = 0;
    std::vector<std::jthread> threads;
    for (int i = 0; i < 6; ++i) {
      threads.emplace_back([&, i] {
        if (i % 2 == 0) return void(served += numberOf(*compilation));
        compilation->join();
        compilation->waitFor(std::chrono::milliseconds(i), {});
        compilation->giveUp();
      });
    }
    threads.clear();
    EXPECT_EQ(served, 9);
  }
}

// A pseudo terminal: what is written to `terminal` can be read.
class Terminal {
 public:
  Terminal() : master_(posix_openpt(O_RDWR | O_NOCTTY)) {
    if (master_ < 0 || grantpt(master_) != 0 || unlockpt(master_) != 0) return;
    terminal = open(ptsname(master_), O_RDWR | O_NOCTTY);
    fcntl(master_, F_SETFL, O_NONBLOCK);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal() {
    close(terminal);
    close(master_);
  }
  // What is written goes through the kernel's own thread.
  std::string shown() const {
    std::string text;
    for (int quiet = 0; quiet < 10;) {
      char part[512];
      const ssize_t count = read(master_, part, sizeof(part));
      if (count > 0) {
        text.append(part, static_cast<size_t>(count));
      } else {
        std::this_thread::sleep_for(5ms);
        ++quiet;
      }
    }
    return text;
  }

  int terminal = -1;

 private:
  int master_;
};

TEST(CompileQueue, ShowsOnATerminalHowFarItIsAndErasesThat) {
  const Terminal pty;
  if (pty.terminal < 0) GTEST_SKIP() << "there are no pseudo terminals here";
  const Queued queue({.threads = 1, .terminal = pty.terminal, .patience = 1ms});
  // The first one is not done before the second is known.
  std::promise<void> both;
  const auto first = queue.add([&](const std::stop_token&) { return both.get_future().wait(), 1; });
  const auto slow = queue.add([](const std::stop_token&) { return std::this_thread::sleep_for(300ms), 2; });
  both.set_value();
  EXPECT_EQ(numberOf(*slow), 2);
  const std::string shown = pty.shown();
  EXPECT_THAT(shown, HasSubstr("tokamak: compiling kernels: 1 of 2 done"));
  EXPECT_TRUE(shown.ends_with("\r\033[K")) << shown;
}

TEST(CompileQueue, ShowsNothingWhenItIsQuickOrNobodyLooksOrNobodyAskedForIt) {
  const Terminal pty;
  if (pty.terminal < 0) GTEST_SKIP() << "there are no pseudo terminals here";
  const auto waits = [](const CompileQueueOptions& options) {
    const Queued queue(options);
    numberOf(*queue.add([](const std::stop_token&) { return std::this_thread::sleep_for(250ms), 1; }));
  };
  waits({.threads = 1, .terminal = pty.terminal, .patience = 1h});
  const int standard_error = dup(STDERR_FILENO);
  dup2(pty.terminal, STDERR_FILENO);
  waits({.threads = 1, .patience = 1ms});
  EXPECT_EQ(pty.shown(), "");
  CompileQueue::showProgressOn(STDERR_FILENO);
  waits({.threads = 1, .patience = 1ms});
  CompileQueue::showProgressOn(-1);
  dup2(standard_error, STDERR_FILENO);
  close(standard_error);
  EXPECT_THAT(pty.shown(), HasSubstr("tokamak: compiling kernels: 0 of 1 done"));
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  waits({.threads = 1, .terminal = ends[1], .patience = 1ms});
  char byte = 0;
  EXPECT_LT(read(ends[0], &byte, 1), 0);
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace tokamak
