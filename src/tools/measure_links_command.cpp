#include "tools/measure_links_command.h"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/require.h"
#include "compile/program.h"
#include "dist/local/local_communicator.h"
#include "jit/open_device.h"
#include "simulate/machine.h"
#include "tools/machine_file.h"
#include "tools/output_places.h"
#include "tools/run_steps.h"

namespace tokamak::tools {

namespace {

constexpr int kRounds = 15;

double secondsOf(const std::function<void()>& action) {
  const auto start = SteadyClock::now();
  action();
  return millisecondsSince(start) / 1e3;
}

// The median: others use the machine, too.
double medianSecondsOf(const std::function<void()>& action) {
  action();
  std::vector<double> times;
  for (int round = 0; round < kRounds; ++round) times.push_back(secondsOf(action));
  std::ranges::nth_element(times, times.begin() + kRounds / 2);
  return times[kRounds / 2];
}

// Of a program whose inputs are square matrices of this size.
double medianCallSeconds(const Fusion& fusion, Device& device, size_t inputs, int64_t size) {
  Program program = compile(fusion, device);
  const std::vector<float> elements(static_cast<size_t>(size * size), 0.5F);
  std::vector<float> result(elements.size());
  const Tensor in = Tensor::wrap(device, elements, {size, size});
  const Tensor out = Tensor::wrap(device, result, {size, size});
  const std::vector<Tensor> given(inputs, in);
  return medianSecondsOf([&] { program.run(std::span<const Tensor>(given), std::span(&out, 1)); });
}

double productRate(Device& device) {
  constexpr int64_t kSize = 512;
  const auto fusion = readFusion("fusion product(T0: f32[n, n], T1: f32[n, n]) -> T2 { T2 = matmul(T0, T1) }");
  return 2.0 * kSize * kSize * kSize / medianCallSeconds(*fusion, device, 2, kSize);
}

double functionRate(Device& device) {
  constexpr int64_t kSize = 512;
  const auto fusion = readFusion("fusion function(T0: f32[n, n]) -> T1 { T1 = exp(T0) }");
  return 1.0 * kSize * kSize / medianCallSeconds(*fusion, device, 1, kSize);
}

// Bytes read and written.
double copyBandwidth(Device& device) {
  constexpr int64_t kBytes = int64_t{64} << 20;
  const std::shared_ptr<Stream> stream = device.createStream();
  const std::vector<std::byte> from(kBytes, std::byte{1});
  std::vector<std::byte> to(kBytes);
  return 2.0 * kBytes / medianSecondsOf([&] {
           device.copy(*stream, to.data(), from.data(), kBytes);
           stream->synchronize();
         });
}

double launchSeconds(Device& device) {
  const std::shared_ptr<Stream> stream = device.createStream();
  std::byte byte{};
  return medianSecondsOf([&] {
    device.fill(*stream, &byte, 0, 1);
    stream->synchronize();
  });
}

// A rank that sends to the other one, or receives from it.
struct Peer {
  Communicator& communicator;
  TeamCommunicator& team;

  void transfer(CommunicationKind kind, std::span<std::byte> memory) {
    const int64_t other = 1 - communicator.rank();
    const bool sends = kind == CommunicationKind::Send;
    CommunicationRequest request{.kind = kind, .counts = {static_cast<int64_t>(memory.size() / sizeof(float))}};
    (sends ? request.send_to : request.receive_from) = other;
    const std::shared_ptr<const Work> work = team.prepare(request);
    void* const addresses[] = {sends ? memory.data() : nullptr, sends ? nullptr : memory.data()};
    Stream& stream = team.streamOf(request);
    communicator.device()->launch(stream, *work, addresses);
    stream.synchronize();
  }
};

// Half of a round trip of so many bytes.
double transferSeconds(std::span<const std::unique_ptr<Communicator>> ranks, int64_t bytes) {
  const std::vector<int64_t> both = {0, 1};
  double seconds = 0;
  std::exception_ptr failures[2];
  std::vector<std::thread> threads;
  for (const int64_t rank : both) {
    threads.emplace_back([&, rank] {
      try {
        Communicator& communicator = *ranks[static_cast<size_t>(rank)];
        const std::shared_ptr<TeamCommunicator> team = communicator.team(both);
        Peer peer{communicator, *team};
        std::vector<std::byte> memory(static_cast<size_t>(bytes));
        const auto roundTrip = [&] {
          peer.transfer(rank == 0 ? CommunicationKind::Send : CommunicationKind::Recv, memory);
          peer.transfer(rank == 0 ? CommunicationKind::Recv : CommunicationKind::Send, memory);
        };
        const double own = medianSecondsOf(roundTrip) / 2;
        if (rank == 0) seconds = own;
      } catch (...) {
        failures[rank] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& failure : failures)
    if (failure != nullptr) std::rethrow_exception(failure);
  return seconds;
}

// time = latency + bytes / bandwidth, through two sizes.
MachineLink measureLink(std::span<const std::unique_ptr<Communicator>> ranks) {
  constexpr int64_t kSmall = 64;
  constexpr int64_t kLarge = int64_t{16} << 20;
  const double small = transferSeconds(ranks, kSmall);
  const double large = transferSeconds(ranks, kLarge);
  const double per_byte = std::max(large - small, 1e-9) / static_cast<double>(kLarge - kSmall);
  return {.latency = small, .bandwidth = 1 / per_byte};
}

Machine measuredMachine(int64_t ranks) {
  std::vector<std::shared_ptr<Device>> devices;
  for (int64_t rank = 0; rank < ranks; ++rank) devices.push_back(openCpuDevice({.threads = 1}));
  const std::vector<std::unique_ptr<Communicator>> communicators = makeLocalCommunicators(devices);
  Device& device = *devices[0];
  const double launch = launchSeconds(device);
  const MachineLink link = measureLink(communicators);
  return {.name = fmt::format("{} threads of this process", ranks),
          .ranks_per_host = ranks,
          .memory_bandwidth = copyBandwidth(device),
          .function_rate = functionRate(device),
          .product_rates = {{DataType::F32, productRate(device)}},
          .kernel_latency = launch,
          .host_link = {.latency = 0, .bandwidth = link.bandwidth},
          .transports = {{"local", MachineTransport{.latency = link.latency}}}};  // all meet once, however many
}

}  // namespace

int measureLinksCommand(const MeasureLinksOptions& options) {
  TK_REQUIRE(options.device == "cpu" || options.device == "cuda", Usage, "--device {}: it must be one of cpu, cuda",
             options.device);
  TK_REQUIRE(
      options.device == "cpu", Unsupported,
      "measure-links --device cuda: the links of GPUs are measured by the transports of GPUs, and this build has "
      "none; write the machine file by hand, as examples/machines/h200.json");
  TK_REQUIRE(options.ranks >= 2, Usage, "--ranks {}: a link is between two ranks; it must be at least 2",
             options.ranks);
  const Machine machine = measuredMachine(options.ranks);
  requireLegal(machine);
  writeText("--output", options.output,
            machineText(machine,
                        "tokamak measure-links: medians of sends through the local transport, of a copy of 64 "
                        "MiB, of a product and of exp of 512 x 512 f32, and of a launch"));
  return 0;
}

}  // namespace tokamak::tools
