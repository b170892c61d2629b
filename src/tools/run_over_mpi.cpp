#include "tools/run_over_mpi.h"

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/library_version.h"
#include "base/log.h"
#include "base/require.h"
#include "base/text.h"
#include "compile/agreed_steps.h"
#include "dist/mpi/mpi_communicator.h"
#include "jit/open_device.h"
#include "tools/program_file.h"
#include "tools/run_on_ranks.h"
#include "tools/signal_watch.h"

namespace tokamak::tools {

namespace {

// What all ranks do alike, one of them says.
void beSilent() {
  if (std::freopen("/dev/null", "w", stdout) == nullptr) return;
  setLogFunction([](std::string_view) {});
}

std::vector<std::pair<std::string, std::string>> factsOf(const RunOptions& options, const ProgramFile& file) {
  const auto listed = [](const std::vector<std::string>& texts) { return joined(texts, " "); };
  return {{"version", libraryVersion()},
          {"text of the program", file.text},
          {"--size", listed(options.sizes)},
          {"--input", listed(options.inputs)},
          {"--seed", std::to_string(options.seed)},
          {"--repeat", std::to_string(options.repeat)},
          {"--grouping", options.grouping},
          {"--streams", std::to_string(options.streams)},
          {"--machine", options.machine.empty() ? "" : readText(options.machine)},
          {"--most-iterations", std::to_string(options.most_iterations)},
          {"--unproved", options.unproved ? "given" : ""}};
}

// mpirun gives its standard input to one process, and makes lines of what all of them write.
void requireNamedFiles(const RunOptions& options) {
  const bool is_text = options.file == "/dev/stdin" || options.file == "/dev/fd/0";
  TK_REQUIRE(!is_text, Usage,
             "{}: with --comm mpi every process reads the program, and mpirun gives standard input to one of them; put "
             "it into a file",
             options.file);
  for (const auto& [name, from] : readAssignments("--input", options.inputs))
    TK_REQUIRE(
        from != "-", Usage,
        "--input {}=-: with --comm mpi every process reads its inputs, and mpirun gives standard input to one of "
        "them; put it into a file",
        name);
  for (const auto& [name, to] : readAssignments("--output", options.outputs))
    TK_REQUIRE(to != "-", Usage,
               "--output {}=-: with --comm mpi standard output is mpirun's, which takes lines of all processes; name a "
               "file",
               name);
}

int runAsRank(const RunOptions& options, Communicator& communicator) {
  ProgramFile file;
  std::vector<std::pair<std::string, std::string>> facts;
  agree(communicator, "read", [&] {
    TK_REQUIRE(
        !options.written.contains("--ranks"), Usage,
        "--ranks: it has no effect with --comm mpi, whose ranks are the processes that mpirun has started; leave "
        "one of them out");
    requireNamedFiles(options);
    file = readProgram(options.file, communicator.size());
    facts = factsOf(options, file);
  });
  requireAlike(communicator, facts);
  return runOnRanks(file, options, &communicator);
}

}  // namespace

int runOverMpi(const RunOptions& options) {
  const std::shared_ptr<Device> device =
      openCpuDevice({.threads = options.threads > 0 ? options.threads : 1, .poisons_memory = true});
  const std::unique_ptr<Communicator> communicator =
      mpiCommunicator(device, {.timeout = std::chrono::seconds(options.timeout), .operations = options.operations});
  const int64_t rank = communicator->rank();
  if (rank != 0) beSilent();
  keepTimeForLastWords(std::chrono::milliseconds(800));
  try {
    return runAsRank(options, *communicator);
  } catch (const AgreedError&) {
    throw;
  } catch (const Error& error) {
    setLogFunction(nullptr);
    throw Error(error.code(), fmt::format("rank {}: {}", rank, error.what()));
  }
}

}  // namespace tokamak::tools
