#include "runtime/compile/child_process.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/leftovers.h"
#include "runtime/compile/file_descriptor.h"

namespace tokamak {

namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kKeptBytes = 64 << 10;
// After the child has ended, what it started may still hold its output open; nobody waits for that.
constexpr std::chrono::milliseconds kLastWords{20};

struct SpawnSetup {
  SpawnSetup() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
  }
  SpawnSetup(const SpawnSetup&) = delete;
  SpawnSetup& operator=(const SpawnSetup&) = delete;
  ~SpawnSetup() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
  posix_spawn_file_actions_t actions = {};
  posix_spawnattr_t attributes = {};
};

std::vector<char*> pointersTo(std::span<const std::string> texts) {
  std::vector<char*> result;
  for (const std::string& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

// A group of its own, so that all that the child starts is killed with it; no signal blocked or ignored.
void prepareAttributes(posix_spawnattr_t& attributes) {
  sigset_t all;
  sigset_t none;
  sigfillset(&all);
  sigemptyset(&none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setsigmask(&attributes, &none);
}

void limitTo(pid_t child, int resource, int64_t value) {
  const auto amount = static_cast<rlim_t>(value);
  const rlimit limit = {amount, amount};
  prlimit(child, static_cast<__rlimit_resource>(resource), &limit, nullptr);
}

// posix_spawn cannot set limits in the child. It returns when the program has been loaded, before a compiler driver has
// started what it drives; processes started later inherit the limits.
void limitProcess(pid_t child, const ProcessLimits& limits) {
  limitTo(child, RLIMIT_AS, limits.memory_bytes);
  limitTo(child, RLIMIT_FSIZE, limits.file_bytes);
  limitTo(child, RLIMIT_CORE, 0);
  // Ends the child even when this process is no longer there to do it.
  const int64_t most = std::chrono::ceil<std::chrono::seconds>(limits.time_out).count() + 1;
  const int64_t asked = limits.processor_time.count();
  limitTo(child, RLIMIT_CPU, asked > 0 ? std::min(asked, most) : most);
}

std::chrono::milliseconds durationOf(const timeval& time) {
  return std::chrono::milliseconds(time.tv_sec * 1000 + time.tv_usec / 1000);
}

class Child {
 public:
  Child(pid_t pid, FileDescriptor output, LeftoverProcess& leftover)
      : pid_(pid), output_(std::move(output)), leftover_(leftover) {
    handle_ = FileDescriptor(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() { killAll(); }

  ProcessResult run(const ProcessLimits& limits) {
    const Clock::time_point end = Clock::now() + limits.time_out;
    while (!hasEnded()) {
      if (Clock::now() >= end) return stop(ProcessEnd::TimedOut);
      if (bytes_ > limits.said_bytes) return stop(ProcessEnd::SaidTooMuch);
      waitForNews(end);
    }
    handle_ = FileDescriptor();  // says without end that the child has ended
    const Clock::time_point last = Clock::now() + kLastWords;
    while (output_.isOpen() && bytes_ <= limits.said_bytes && Clock::now() < last) waitForNews(last);
    killAll();
    return std::move(result_);
  }

 private:
  // Waits until the child says something, ends, or `end`; takes what it said.
  void waitForNews(Clock::time_point end) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
    int wait = static_cast<int>(std::clamp<int64_t>(left, 0, 1000));
    // Without a handle of the process (an old kernel) its end is looked for every two milliseconds.
    if (!handle_.isOpen()) wait = std::min(wait, 2);
    std::array<pollfd, 2> polled = {pollfd{output_.get(), POLLIN, 0}, pollfd{handle_.get(), POLLIN, 0}};
    poll(polled.data(), polled.size(), wait);
    if ((polled[0].revents & (POLLIN | POLLHUP | POLLERR)) != 0) takeOutput();
  }

  void takeOutput() {
    std::array<char, 16 << 10> buffer;
    const ssize_t count = read(output_.get(), buffer.data(), buffer.size());
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (count <= 0) {
      output_ = FileDescriptor();
      return;
    }
    bytes_ += count;
    const size_t room = kKeptBytes - result_.said.size();
    result_.said.append(buffer.data(), std::min(room, static_cast<size_t>(count)));
  }

  // Leaves the child unreaped, so that its number stays its own until the group has been killed.
  bool hasEnded() {
    siginfo_t info = {};
    if (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0) return info.si_pid == pid_;
    if (errno == EINTR) return false;
    is_reaped_ = true;
    return true;
  }

  ProcessResult stop(ProcessEnd end) {
    killAll();
    result_.end = end;
    return std::move(result_);
  }

  // Ends what the child started, and the child if it still runs; takes its status.
  void killAll() {
    if (!is_reaped_) kill(-pid_, SIGKILL);
    leftover_.release();
    while (!is_reaped_) {
      int status = 0;
      rusage usage = {};
      const pid_t waited = wait4(pid_, &status, 0, &usage);
      is_reaped_ = waited == pid_ || errno != EINTR;
      if (waited != pid_) continue;
      result_.end = WIFEXITED(status) ? ProcessEnd::Exited : ProcessEnd::Signalled;
      result_.code = WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status);
      result_.processor_time = durationOf(usage.ru_utime) + durationOf(usage.ru_stime);
    }
  }

  pid_t pid_;
  FileDescriptor output_;
  LeftoverProcess& leftover_;
  FileDescriptor handle_;
  bool is_reaped_ = false;
  int64_t bytes_ = 0;
  ProcessResult result_;
};

}  // namespace

std::string describeEnd(const ProcessResult& result, const ProcessLimits& limits) {
  switch (result.end) {
    case ProcessEnd::Exited: return fmt::format("exited with code {}", result.code);
    case ProcessEnd::Signalled:
      return fmt::format("was ended by signal {} ({})", result.code, sigdescr_np(result.code));
    case ProcessEnd::TimedOut: return fmt::format("did not end within {} ms and was killed", limits.time_out.count());
    case ProcessEnd::SaidTooMuch: return fmt::format("printed more than {} bytes and was killed", limits.said_bytes);
    case ProcessEnd::Unknown: break;
  }
  return "ended in an unknown way: its status was taken by somebody else (is SIGCHLD ignored in this process?)";
}

ProcessResult runProcess(std::span<const std::string> arguments, std::span<const std::string> environment,
                         const ProcessLimits& limits) {
  TK_CHECK(!arguments.empty(), "a process has a program");
  std::array<int, 2> ends = {-1, -1};
  TK_REQUIRE(pipe2(ends.data(), O_CLOEXEC) == 0, Io, "running '{}': no pipe for its output: {}", arguments[0],
             std::strerror(errno));
  FileDescriptor output(ends[0]);
  FileDescriptor input(ends[1]);
  fcntl(output.get(), F_SETFL, O_NONBLOCK);

  SpawnSetup setup;
  posix_spawn_file_actions_addopen(&setup.actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&setup.actions, input.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&setup.actions, input.get(), STDERR_FILENO);
  prepareAttributes(setup.attributes);
  pid_t pid = 0;
  int failure = 0;
  LeftoverProcess leftover([&] {
    failure = posix_spawn(&pid, arguments[0].c_str(), &setup.actions, &setup.attributes, pointersTo(arguments).data(),
                          pointersTo(environment).data());
    return failure == 0 ? pid : 0;
  });
  TK_REQUIRE(failure == 0, Io, "running '{}': it cannot be started: {}", arguments[0], std::strerror(failure));
  limitProcess(pid, limits);
  input = FileDescriptor();  // else the output would never end
  Child child(pid, std::move(output), leftover);
  return child.run(limits);
}

}  // namespace tokamak
