#include "tools/process.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <string>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"
#include "toolchain/compile_queue.h"
#include "tools/command_line.h"
#include "tools/signal_watch.h"

namespace tokamak::tools {

namespace {

int print_error = 0;  // why printing failed first: later attempts tell another reason, or none

int exitCode(ErrorCode code) {
  switch (code) {
    case ErrorCode::Usage: return 2;
    case ErrorCode::Parse:
    case ErrorCode::Definition:
    case ErrorCode::Schedule:
    case ErrorCode::HostProgram:
    case ErrorCode::Race: return 3;
    case ErrorCode::Bind:
    case ErrorCode::OutOfMemory:
    case ErrorCode::Io:
    case ErrorCode::Device:
    case ErrorCode::Unsupported:
    case ErrorCode::Compile:
    case ErrorCode::Cancelled: return 4;
    case ErrorCode::Internal: return 70;
  }
  return 70;
}

std::vector<std::string> commandNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  return names;
}

int runCommandLine(int argc, const char* const* argv) {
  CommandLine command_line;
  const std::vector<std::string> names = commandNames(command_line.app);
  // (CLI11 would say that there is no command, and not name the word.)
  if (argc > 1 && argv[1][0] != '-' && std::ranges::find(names, argv[1]) == names.end()) {
    say("there is no command '{}'; it must be one of {}", argv[1], joined(names));
    return 2;
  }
  try {
    command_line.app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    errno = 0;
    const int code = command_line.app.exit(error);
    if (!std::cout.good()) print_error = errno;
    return code == 0 ? 0 : 2;
  }
  try {
    return command_line.run();
  } catch (const Error& error) {
    std::fflush(stdout);
    say(error.what());
    return exitCode(error.code());
  } catch (const std::system_error& error) {
    // What printing raises; main() says what is wrong with the standard output.
    if (std::ferror(stdout) != 0) {
      print_error = error.code().value();
      return 4;
    }
    say("internal error: {}", error.what());
    return 70;
  } catch (const std::bad_alloc&) {
    say("out of host memory");
    return 4;
  } catch (const std::exception& error) {
    say("internal error: {}", error.what());
    return 70;
  }
}

// Whether everything printed has got where it should, a full disk or a closed pipe; says so if not.
bool hasPrintedAll() {
  errno = 0;
  const bool is_flushed = std::cout.flush().good() && std::fflush(stdout) == 0;
  const int error = print_error != 0 ? print_error : errno;
  if (is_flushed && std::ferror(stdout) == 0) return true;
  say("the standard output cannot be written: {}", error == 0 ? "an earlier write failed" : std::strerror(error));
  return false;
}

// A standard stream that is closed would give its number to the next file that is opened, and messages would be written
// into that. The number is taken here by a file on which every read or write fails, as on a closed one.
void keepStandardNumbers() {
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(number, F_GETFD) < 0) open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

}  // namespace

int runProcess(int argc, const char* const* argv) {
  keepStandardNumbers();
  watchSignals();
  CompileQueue::showProgressOn(STDERR_FILENO);
  const int code = runCommandLine(argc, argv);
  const bool has_failed_otherwise = code != 0 && code != 1;
  return hasPrintedAll() || has_failed_otherwise ? code : 4;
}

}  // namespace tokamak::tools
