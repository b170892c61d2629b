#include "tools/run_over_processes.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
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
#include "dist/nccl/nccl_communicator.h"
#include "dist/nccl/nccl_library.h"
#include "dist/peer_copy/peer_communicator.h"
#include "dist/sockets/bootstrap.h"
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

// A launcher gives its standard input to one process, and makes lines of what all of them write.
void requireNamedFiles(const RunOptions& options) {
  const bool is_text = options.file == "/dev/stdin" || options.file == "/dev/fd/0";
  const std::string& comm = options.comm;
  const std::string_view launcher = comm == "mpi" ? "mpirun" : "the launcher";
  TK_REQUIRE(!is_text, Usage,
             "{}: with --comm {} every process reads the program, and {} gives standard input to one of them; put "
             "it into a file",
             options.file, comm, launcher);
  for (const auto& [name, from] : readAssignments("--input", options.inputs))
    TK_REQUIRE(from != "-", Usage,
               "--input {}=-: with --comm {} every process reads its inputs, and {} gives standard input to one of "
               "them; put it into a file",
               name, comm, launcher);
  for (const auto& [name, to] : readAssignments("--output", options.outputs))
    TK_REQUIRE(to != "-", Usage,
               "--output {}=-: with --comm {} standard output is {}'s, which takes lines of all processes; name a "
               "file",
               name, comm, launcher);
}

int runAsRank(const RunOptions& options, Communicator& communicator) {
  ProgramFile file;
  std::vector<std::pair<std::string, std::string>> facts;
  agree(communicator, "read", [&] {
    TK_REQUIRE(!options.written.contains("--ranks"), Usage,
               "--ranks: it has no effect with --comm {}, whose ranks are the processes that {}; leave one of them out",
               options.comm, options.comm == "mpi" ? "mpirun has started" : "the environment tells of");
    requireNamedFiles(options);
    file = readProgram(options.file, communicator.size());
    facts = factsOf(options, file);
  });
  requireAlike(communicator, facts);
  return runOnRanks(file, options, &communicator);
}

std::unique_ptr<Communicator> overMpi(const RunOptions& options) {
  const std::shared_ptr<Device> device =
      openCpuDevice({.threads = options.threads > 0 ? options.threads : 1, .poisons_memory = true});
  return mpiCommunicator(device, {.timeout = std::chrono::seconds(options.timeout), .operations = options.operations});
}

// Its number on the machine is the GPU's. All ranks hear of one that has none, or no NCCL, before anybody waits for it.
std::unique_ptr<Communicator> betweenGpus(const RunOptions& options) {
  TK_REQUIRE(!options.written.contains("--device") || options.device == "cuda", Usage,
             "--comm {} --device {}: its ranks have a GPU each; leave --device out", options.comm, options.device);
  const std::unique_ptr<Bootstrap> bootstrap = tcpBootstrap(tcpBootstrapFromEnvironment());
  std::shared_ptr<Device> device;
  std::string failure;
  try {
    const std::string reason = reasonForNoCuda();
    TK_REQUIRE(reason.empty(), Unsupported, "no CUDA device: {}", reason);
    const int64_t number = localRankFromEnvironment(bootstrap->rank()) % countCudaDevices();
    device = openCudaDevice(number, {.poisons_memory = true});
    if (options.comm == "nccl") NcclLibrary::load();
  } catch (const Error& error) {
    failure = fmt::format("rank {}: {}", bootstrap->rank(), error.what());
  }
  for (const std::vector<std::byte>& told : bootstrap->exchange(std::as_bytes(std::span(failure)))) {
    if (told.empty()) continue;
    if (bootstrap->rank() != 0) beSilent();
    throw AgreedError(ErrorCode::Unsupported, {reinterpret_cast<const char*>(told.data()), told.size()});
  }
  const std::chrono::seconds timeout(options.timeout);
  if (options.comm == "nccl")
    return ncclCommunicator(*bootstrap, device, {.timeout = timeout, .operations = options.operations});
  return peerCommunicator(*bootstrap, device, {.timeout = timeout, .operations = options.operations});
}

}  // namespace

int runOverProcesses(const RunOptions& options) {
  const std::unique_ptr<Communicator> communicator = isOnGpus(options) ? betweenGpus(options) : overMpi(options);
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
