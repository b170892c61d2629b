#include "toolchain/child_process.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/leftovers.h"
#include "base/require.h"
#include "toolchain/file_descriptor.h"

namespace tokamak {

namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kKeptBytes = 64 << 10;
// After the child has ended, what it started may still hold its output open; nobody waits for that.
constexpr std::chrono::milliseconds kLastWords{20};

std::vector<char*> pointersTo(std::span<const std::string> texts) {
  std::vector<char*> result;
  for (const std::string& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

struct ResourceLimit {
  __rlimit_resource resource;
  rlimit limit;
};

std::array<ResourceLimit, 4> resourceLimits(const ProcessLimits& limits) {
  // No more than this process may have itself.
  const auto exactly = [](__rlimit_resource resource, int64_t value) {
    rlimit own = {RLIM_INFINITY, RLIM_INFINITY};
    getrlimit(resource, &own);
    const rlim_t amount = std::min(static_cast<rlim_t>(value), own.rlim_max);
    return ResourceLimit{resource, {amount, amount}};
  };
  // Of the processor's time: it ends the child even when this process is no longer there to do it.
  const int64_t most = std::chrono::ceil<std::chrono::seconds>(limits.time_out).count() + 1;
  const int64_t asked = limits.processor_time.count();
  return {exactly(RLIMIT_AS, limits.memory_bytes), exactly(RLIMIT_FSIZE, limits.file_bytes), exactly(RLIMIT_CORE, 0),
          exactly(RLIMIT_CPU, asked > 0 ? std::min(asked, most) : most)};
}

// What a child needs before its program starts; made beforehand, as the child may call nothing that allocates.
struct Start {
  std::vector<char*> arguments;
  std::vector<char*> environment;
  std::array<ResourceLimit, 4> limits;
  int output;  // of the child
  int fault;   // where it writes errno, if its program cannot be started; closed when it is
};

// In the child: a group of its own, so that all that it starts is killed with it; no signal blocked or ignored; its
// limits, which what it starts inherits. Set from outside they would come too late for a compiler driver that starts
// its compiler at once.
[[noreturn]] void becomeProgram(const Start& start) {
  setpgid(0, 0);
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction usual = {};
    usual.sa_handler = SIG_DFL;
    sigaction(signal, &usual, nullptr);
  }
  sigset_t none;
  sigemptyset(&none);
  pthread_sigmask(SIG_SETMASK, &none, nullptr);
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  bool is_ready = nothing >= 0 && dup2(nothing, STDIN_FILENO) >= 0 && dup2(start.output, STDOUT_FILENO) >= 0 &&
                  dup2(start.output, STDERR_FILENO) >= 0;
  for (const ResourceLimit& each : start.limits) is_ready = is_ready && setrlimit(each.resource, &each.limit) == 0;
  if (is_ready) execve(start.arguments[0], start.arguments.data(), start.environment.data());
  const int fault = errno;
  [[maybe_unused]] const ssize_t written = write(start.fault, &fault, sizeof(fault));
  _exit(127);
}

// The child shares this process's memory until its program starts: fork() would copy the page tables of what embeds us.
[[gnu::noinline]] pid_t startChild(const Start& start) {
  // posix_spawn sets no limits; the child calls the system only.
  // NOLINTNEXTLINE(clang-analyzer-security.insecureAPI.vfork,bugprone-unsafe-functions)
  const pid_t pid = vfork();
  if (pid == 0) becomeProgram(start);
  return pid;
}

// No handler of this process runs in the child.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_ = {};
};

// Why the program could not be started, as errno; 0: it was.
int faultOf(int fault) {
  int number = 0;
  ssize_t count = -1;
  do count = read(fault, &number, sizeof(number));
  while (count < 0 && errno == EINTR);
  return count == sizeof(number) ? number : 0;
}

struct Pipe {
  FileDescriptor read_end;
  FileDescriptor write_end;
};

Pipe makePipe(const std::string& program) {
  std::array<int, 2> ends = {-1, -1};
  TK_REQUIRE(pipe2(ends.data(), O_CLOEXEC) == 0, Io, "running '{}': no pipe for its output: {}", program,
             std::strerror(errno));
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

std::chrono::milliseconds durationOf(const timeval& time) {
  return std::chrono::milliseconds(time.tv_sec * 1000 + time.tv_usec / 1000);
}

// Becomes readable when a stop is asked for. Without a file descriptor to spare, who polls has to look.
class StopSignal {
 public:
  explicit StopSignal(const std::stop_token& stop)
      : stop_(stop),
        event_(stop.stop_possible() ? eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) : -1),
        callback_(stop, [this] { notify(); }) {}

  bool isAsked() const { return stop_.stop_requested(); }
  int descriptor() const { return event_.isOpen() ? event_.get() : -1; }
  bool hasToBeLookedAt() const { return stop_.stop_possible() && !event_.isOpen(); }

 private:
  void notify() const {
    const uint64_t one = 1;
    if (event_.isOpen()) [[maybe_unused]]
      const ssize_t written = write(event_.get(), &one, sizeof(one));
  }

  const std::stop_token& stop_;
  FileDescriptor event_;
  std::stop_callback<std::function<void()>> callback_;
};

class Child {
 public:
  Child(pid_t pid, FileDescriptor output, LeftoverProcess& leftover, const std::stop_token& stop)
      : pid_(pid), output_(std::move(output)), leftover_(leftover), stop_(stop) {
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
      if (stop_.isAsked()) return stop(ProcessEnd::Cancelled);
      waitForNews(end);
    }
    handle_ = FileDescriptor();  // says without end that the child has ended
    const Clock::time_point last = Clock::now() + kLastWords;
    while (output_.isOpen() && bytes_ <= limits.said_bytes && Clock::now() < last) waitForNews(last);
    killAll();
    return std::move(result_);
  }

 private:
  // Waits until the child says something, ends, a stop is asked for, or `end`; takes what it said.
  void waitForNews(Clock::time_point end) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
    int wait = static_cast<int>(std::clamp<int64_t>(left, 0, 1000));
    // Without a handle of the process (an old kernel) its end is looked for every two milliseconds.
    if (!handle_.isOpen()) wait = std::min(wait, 2);
    if (stop_.hasToBeLookedAt()) wait = std::min(wait, 20);
    std::array<pollfd, 3> polled = {pollfd{output_.get(), POLLIN, 0}, pollfd{handle_.get(), POLLIN, 0},
                                    pollfd{stop_.descriptor(), POLLIN, 0}};
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
  StopSignal stop_;
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
    case ProcessEnd::Cancelled: return "was killed, as nobody waits for it any more";
    case ProcessEnd::Unknown: break;
  }
  return "ended in an unknown way: its status was taken by somebody else (is SIGCHLD ignored in this process?)";
}

ProcessResult runProcess(std::span<const std::string> arguments, std::span<const std::string> environment,
                         const ProcessLimits& limits, const std::stop_token& stop) {
  TK_CHECK(!arguments.empty(), "a process has a program");
  Pipe output = makePipe(arguments[0]);
  Pipe fault = makePipe(arguments[0]);
  fcntl(output.read_end.get(), F_SETFL, O_NONBLOCK);
  const Start start = {pointersTo(arguments), pointersTo(environment), resourceLimits(limits), output.write_end.get(),
                       fault.write_end.get()};
  pid_t pid = 0;
  int failure = 0;
  LeftoverProcess leftover([&] {
    const SignalsBlocked blocked;
    pid = startChild(start);
    failure = pid < 0 ? errno : 0;
    return std::max(pid, 0);
  });
  output.write_end = FileDescriptor();  // else the output would never end
  fault.write_end = FileDescriptor();
  std::optional<Child> child;
  if (pid > 0) child.emplace(pid, std::move(output.read_end), leftover, stop);
  if (failure == 0) failure = faultOf(fault.read_end.get());
  TK_REQUIRE(failure == 0, Io, "running '{}': it cannot be started: {}", arguments[0], std::strerror(failure));
  return child->run(limits);
}

}  // namespace tokamak
