// Child processes: what they say, how they end, and that nothing of them is left.
#include <atomic>
#include <csignal>
#include <ctime>
#include <stop_token>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "error_of.h"
#include "temporary_folder.h"
#include "toolchain/child_process.h"
#include "toolchain/file_descriptor.h"

namespace tokamak {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

constexpr ProcessLimits kQuick = {.time_out = milliseconds(400), .memory_bytes = 256 << 20, .said_bytes = 1 << 20};

ProcessResult runScript(const std::string& body, const ProcessLimits& limits = {}) {
  const std::vector<std::string> arguments = {"/bin/sh", "-c", body};
  const std::vector<std::string> environment = {"PATH=/usr/bin:/bin", "GREETING=hello"};
  return runProcess(arguments, environment, limits);
}

TEST(ChildProcess, outputAndCodeComeBack) {
  const ProcessResult result = runScript("echo $GREETING; echo bad >&2; exit 3");
  EXPECT_EQ(result.end, ProcessEnd::Exited);
  EXPECT_EQ(result.code, 3);
  EXPECT_EQ(result.said, "hello\nbad\n");
  EXPECT_EQ(describeEnd(result, {}), "exited with code 3");
}

TEST(ChildProcess, environmentIsExactlyTheGivenOne) {
  const ScopedVariable leaked("TOKAMAK_LEAKED", "1");
  EXPECT_EQ(runScript("echo ${TOKAMAK_LEAKED-unset}").said, "unset\n");
}

TEST(ChildProcess, inputIsEmpty) { EXPECT_EQ(runScript("cat; echo end").said, "end\n"); }

TEST(ChildProcess, aCrashIsASignal) {
  const ProcessResult result = runScript("kill -SEGV $$");
  EXPECT_EQ(result.end, ProcessEnd::Signalled);
  EXPECT_EQ(describeEnd(result, {}), "was ended by signal 11 (Segmentation fault)");
}

TEST(ChildProcess, isKilledWithAllItStartedWhenAStopIsAskedFor) {
  const TemporaryFolder folder;
  const std::vector<std::string> arguments = {"/bin/sh", "-c",
                                              "(sleep 1; touch " + folder / "survivor" + ") & echo begun; wait"};
  std::stop_source stop;
  const std::jthread asks([&] {
    std::this_thread::sleep_for(milliseconds(200));
    stop.request_stop();
  });
  const auto begin = std::chrono::steady_clock::now();
  const ProcessResult result =
      runProcess(arguments, std::vector<std::string>{"PATH=/usr/bin:/bin"}, {}, stop.get_token());
  EXPECT_EQ(result.end, ProcessEnd::Cancelled);
  EXPECT_EQ(result.said, "begun\n");
  EXPECT_EQ(describeEnd(result, {}), "was killed, as nobody waits for it any more");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(900));
  std::this_thread::sleep_for(milliseconds(1100));
  EXPECT_FALSE(std::filesystem::exists(folder / "survivor"));
}

TEST(ChildProcess, isKilledAtOnceWhenTheStopWasAskedForBefore) {
  std::stop_source stop;
  stop.request_stop();
  const std::vector<std::string> arguments = {"/bin/sleep", "100"};
  EXPECT_EQ(runProcess(arguments, {}, {}, stop.get_token()).end, ProcessEnd::Cancelled);
}

TEST(ChildProcess, whatTakesTooLongIsKilledWithAllItStarted) {
  const TemporaryFolder folder;
  const std::string body = "(sleep 2; touch " + folder / "survivor" + ") & (trap '' TERM; sleep 100) & wait";
  const auto begin = std::chrono::steady_clock::now();
  const ProcessResult result = runScript(body, kQuick);
  EXPECT_EQ(result.end, ProcessEnd::TimedOut);
  EXPECT_EQ(describeEnd(result, kQuick), "did not end within 400 ms and was killed");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(2000));
  std::this_thread::sleep_for(milliseconds(2300));
  EXPECT_FALSE(std::filesystem::exists(folder / "survivor"));
}

TEST(ChildProcess, nobodyWaitsForAnOrphanThatHoldsTheOutput) {
  const auto begin = std::chrono::steady_clock::now();
  const ProcessResult result = runScript("sleep 30 & echo done");
  EXPECT_TRUE(result.isSuccess());
  EXPECT_EQ(result.said, "done\n");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(5000));
}

TEST(ChildProcess, whoTalksWithoutEndIsKilled) {
  const ProcessLimits limits = {.time_out = milliseconds(30'000), .said_bytes = 1 << 20};
  const ProcessResult result = runScript("while :; do echo nonsense nonsense nonsense nonsense; done", limits);
  EXPECT_EQ(result.end, ProcessEnd::SaidTooMuch);
  EXPECT_LE(result.said.size(), size_t{64} << 10);
  EXPECT_THAT(describeEnd(result, limits), HasSubstr("printed more than 1048576 bytes"));
}

// The processor time of this process; the child's own does not count.
TEST(ChildProcess, waitingCostsNothing) {
  const auto processorTime = [] {
    timespec time = {};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return time.tv_sec * 1'000'000'000 + time.tv_nsec;
  };
  const int64_t begin = processorTime();
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(runScript("exec sleep 0.05").isSuccess());
  EXPECT_LT(processorTime() - begin, 50'000'000) << "nanoseconds";
}

TEST(ChildProcess, muchOutputIsCutNotRefused) {
  const ProcessResult result =
      runScript("i=0; while [ $i -lt 5000 ]; do echo 0123456789012345678901234567890; i=$((i+1)); done");
  EXPECT_TRUE(result.isSuccess());
  EXPECT_EQ(result.said.size(), size_t{64} << 10);
}

TEST(ChildProcess, memoryIsLimited) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the limit is of address space";
#endif
  // Doubles a text until there is no memory for it.
  const ProcessLimits limits = {.time_out = milliseconds(60'000), .memory_bytes = 64 << 20};
  const ProcessResult result = runScript("sleep 0.1; x=xxxxxxxx; while :; do x=$x$x; done", limits);
  EXPECT_TRUE(result.end == ProcessEnd::Exited || result.end == ProcessEnd::Signalled) << describeEnd(result, limits);
  EXPECT_FALSE(result.isSuccess());
}

// What a compiler driver starts at once would be without limits where these came later.
TEST(ChildProcess, limitsAreThereBeforeTheProgramStarts) {
  std::atomic<int> limited{0};
  constexpr int kThreads = 8;
  constexpr int kTimes = 25;
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < kThreads; ++thread)
      threads.emplace_back([&] {
        for (int i = 0; i < kTimes; ++i) {
          const std::vector<std::string> arguments = {"/bin/cat", "/proc/self/limits"};
          const ProcessResult result = runProcess(arguments, {}, {.memory_bytes = 12345 << 12});
          if (result.said.find(std::to_string(12345 << 12)) != std::string::npos) ++limited;
        }
      });
  }
  EXPECT_EQ(limited, kThreads * kTimes);
}

TEST(ChildProcess, whatCannotBeStartedIsAnError) {
  const std::vector<std::string> arguments = {"/nonexistent/cc"};
  const Error error = errorOf([&] { runProcess(arguments, {}, {}); });
  EXPECT_EQ(error.code(), ErrorCode::Io);
  EXPECT_THAT(error.message(), HasSubstr("running '/nonexistent/cc': it cannot be started: No such file or directory"));
}

TEST(ChildProcess, noDescriptorsLeftIsAnError) {
  std::vector<FileDescriptor> open_files;
  while (true) {
    FileDescriptor file(dup(STDIN_FILENO));
    if (!file.isOpen()) break;
    open_files.push_back(std::move(file));
  }
  const Error error = errorOf([&] { runScript("exit 0"); });
  open_files.clear();
  EXPECT_EQ(error.code(), ErrorCode::Io);
  EXPECT_THAT(error.message(), HasSubstr("no pipe for its output"));
}

TEST(ChildProcess, aLostStatusIsNoSuccess) {
  const auto before = std::signal(SIGCHLD, SIG_IGN);
  const ProcessResult result = runScript("exit 0");
  std::signal(SIGCHLD, before);
  EXPECT_EQ(result.end, ProcessEnd::Unknown);
  EXPECT_THAT(describeEnd(result, {}), HasSubstr("SIGCHLD"));
}

TEST(ChildProcess, manyAtOnceKeepTheirAnswersApart) {
  std::vector<std::string> said(16);
  {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < said.size(); ++i)
      threads.emplace_back([&said, i] { said[i] = runScript("echo " + std::to_string(i)).said; });
  }
  for (size_t i = 0; i < said.size(); ++i) EXPECT_EQ(said[i], std::to_string(i) + "\n");
}

}  // namespace
}  // namespace tokamak
