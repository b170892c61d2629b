// A child process with limits: runs a program without a shell, captures what it says, and ends it when it takes too
// much.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <stop_token>
#include <string>

namespace tokamak {

/// What a child process may take. Beyond it, the child and all it started are killed.
struct ProcessLimits {
  std::chrono::milliseconds time_out{60'000};
  std::chrono::seconds processor_time{0};   ///< of each process; 0: somewhat more than time_out
  int64_t memory_bytes = int64_t{4} << 30;  ///< address space of each process
  int64_t file_bytes = int64_t{1} << 30;    ///< of each file it writes
  int64_t said_bytes = int64_t{8} << 20;    ///< on its standard output and error together
};

/// How a child process ended.
enum class ProcessEnd : uint8_t {
  Exited,     ///< by itself, with `code`
  Signalled,  ///< by the signal `code`: it crashed or was killed by somebody else
  TimedOut,
  SaidTooMuch,
  Cancelled,  ///< the caller asked for it
  Unknown,    ///< this process ignores SIGCHLD or somebody else waited for the child: its status is lost
};

struct ProcessResult {
  ProcessEnd end = ProcessEnd::Unknown;
  int code = 0;
  std::chrono::milliseconds processor_time{0};  ///< of the child and of those that it started and waited for
  std::string said;                             ///< the start of its standard output and error, at most 64 KiB

  bool isSuccess() const { return end == ProcessEnd::Exited && code == 0; }
};

/// "exited with code 1", "crashed with signal 11 (Segmentation fault)", "did not end within 2000 ms and was killed",
/// ...
std::string describeEnd(const ProcessResult& result, const ProcessLimits& limits);

/// Runs `arguments` (the first is the program's path) with exactly this environment and an empty standard input, in a
/// process group of its own, and waits for it. When `stop` asks for it, the child and all it started are killed.
/// May be called from many threads at once.
/// Errors: Io when the program cannot be started.
ProcessResult runProcess(std::span<const std::string> arguments, std::span<const std::string> environment,
                         const ProcessLimits& limits, const std::stop_token& stop = {});

}  // namespace tokamak
