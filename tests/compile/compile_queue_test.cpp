// Compilations side by side, and what a terminal shows meanwhile.
#include <atomic>
#include <cstdlib>
#include <string>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/require.h"
#include "error_of.h"
#include "toolchain/compile_queue.h"

namespace tokamak {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

TEST(CompileQueue, MakesThingsSideBySide) {
  CompileQueue queue({.threads = 3});
  std::atomic<int> running = 0;
  // Each of them waits for the others.
  std::vector<std::shared_future<int>> futures;
  for (int i = 0; i < 3; ++i) {
    futures.push_back(queue.add<int>([&running, i] {
      ++running;
      for (int turn = 0; running < 3 && turn < 5000; ++turn) std::this_thread::sleep_for(1ms);
      return running == 3 ? i : -1;
    }));
  }
  for (int i = 0; i < 3; ++i) {
    queue.wait(futures[static_cast<size_t>(i)]);
    EXPECT_EQ(futures[static_cast<size_t>(i)].get(), i);
  }
}

TEST(CompileQueue, HandsFailuresToThoseWhoWait) {
  CompileQueue queue({.threads = 1});
  const auto failing = queue.add<int>([]() -> int { TK_RAISE(Compile, "it does not compile"); });
  const auto next = queue.add<int>([] { return 7; });
  queue.wait(next);
  EXPECT_EQ(next.get(), 7);
  EXPECT_THROW(failing.get(), Error);
}

TEST(CompileQueue, DropsWhatHasNotBegunWhenItEnds) {
  std::atomic<int> made = 0;
  std::shared_future<int> last;
  {
    CompileQueue queue({.threads = 1});
    queue.add<int>([&] {
      std::this_thread::sleep_for(20ms);
      return ++made;
    });
    for (int i = 0; i < 100; ++i) last = queue.add<int>([&] { return std::this_thread::sleep_for(1ms), ++made; });
  }
  EXPECT_LT(made, 100);
  EXPECT_EQ(errorOf([&] { last.get(); }).code(), ErrorCode::Compile);
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
  CompileQueue queue({.threads = 1, .terminal = pty.terminal, .patience = 1ms});
  // The first one is not done before the second is known.
  std::promise<void> both;
  const auto first = queue.add<int>([&] { return both.get_future().wait(), 1; });
  const auto slow = queue.add<int>([] { return std::this_thread::sleep_for(300ms), 2; });
  both.set_value();
  queue.wait(slow);
  const std::string shown = pty.shown();
  EXPECT_THAT(shown, HasSubstr("tokamak: compiling kernels: 1 of 2 done"));
  EXPECT_TRUE(shown.ends_with("\r\033[K")) << shown;
}

TEST(CompileQueue, ShowsNothingWhenItIsQuickOrNobodyLooks) {
  const Terminal pty;
  if (pty.terminal < 0) GTEST_SKIP() << "there are no pseudo terminals here";
  CompileQueue patient({.threads = 1, .terminal = pty.terminal, .patience = 1h});
  patient.wait(patient.add<int>([] { return std::this_thread::sleep_for(250ms), 1; }));
  EXPECT_EQ(pty.shown(), "");
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  {
    CompileQueue piped({.threads = 1, .terminal = ends[1], .patience = 1ms});
    piped.wait(piped.add<int>([] { return std::this_thread::sleep_for(250ms), 1; }));
  }
  char byte = 0;
  EXPECT_LT(read(ends[0], &byte, 1), 0);
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace tokamak
