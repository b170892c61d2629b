// What communications between GPUs take, over peer copies and over NCCL, in one process with a thread per rank.
//
//   bench_gpu_collectives [--ranks N] [--rounds N] [--json FILE]
//
// Ranks (as many as GPUs, at least 2) share the GPUs; NCCL is left out where they do. Each line: transport, kind, bytes
// of the largest buffer, microseconds from the post of rank 0 until its result is there (the median of the rounds), and
// GB/s: bytes that a rank gets from others by that time.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "dist/nccl/nccl_communicator.h"
#include "dist/peer_copy/peer_communicator.h"
#include "jit/open_device.h"

namespace tokamak {
namespace {

using Clock = std::chrono::steady_clock;
using Communicators = std::vector<std::unique_ptr<Communicator>>;

struct Measured {
  std::string transport;
  CommunicationKind kind = CommunicationKind::Allgather;
  int64_t bytes = 0;
  double microseconds = 0;
  double gigabytes_per_second = 0;
};

template <class Make>
Communicators connect(int64_t ranks, const Make& make) {
  const auto bootstraps = threadBootstraps(ranks, std::chrono::seconds(60));
  Communicators made(static_cast<size_t>(ranks));
  std::vector<std::string> failures(made.size());
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < made.size(); ++rank)
    threads.emplace_back([&, rank] {
      try {
        const int64_t gpu = static_cast<int64_t>(rank) % countCudaDevices();
        made[rank] = make(*bootstraps[rank], openCudaDevice(gpu));
      } catch (const std::exception& error) {
        failures[rank] = error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& failure : failures) {
    if (failure.empty()) continue;
    std::printf("%s\n", failure.c_str());
    return {};
  }
  return made;
}

CommunicationRequest requestOf(CommunicationKind kind, int64_t bytes, int64_t ranks, int64_t rank) {
  const int64_t elements = bytes / 4;
  CommunicationRequest request = {.kind = kind, .counts = {elements}};
  if (kind == CommunicationKind::Allgather)
    request.counts.assign(static_cast<size_t>(ranks), elements / ranks);
  else if (kind == CommunicationKind::CollectivePermute)
    request.send_to = (rank + 1) % ranks, request.receive_from = (rank + ranks - 1) % ranks;
  return request;
}

double bytesReceived(CommunicationKind kind, int64_t bytes, int64_t ranks) {
  const double others = static_cast<double>(ranks - 1) / static_cast<double>(ranks);
  if (kind == CommunicationKind::CollectivePermute) return static_cast<double>(bytes);
  return static_cast<double>(bytes) * others * (kind == CommunicationKind::Allreduce ? 2 : 1);
}

// Rank 0 says how long its rounds took.
void runRank(Communicator& communicator, CommunicationKind kind, int64_t bytes, int rounds, double& microseconds) {
  Device& device = *communicator.device();
  const auto stream = device.createStream();
  std::vector<int64_t> ranks(static_cast<size_t>(communicator.size()));
  std::iota(ranks.begin(), ranks.end(), int64_t{0});
  const auto team = communicator.team(ranks);
  const CommunicationRequest request = requestOf(kind, bytes, communicator.size(), communicator.rank());
  const auto work = team->prepare(request);
  void* const in = device.allocate(bytes, MemoryKind::Device, *stream);
  void* const out = device.allocate(bytes, MemoryKind::Device, *stream);
  device.fill(*stream, in, 0, bytes);
  device.synchronize(*stream);
  const auto before = device.createEvent();
  const auto done = device.createEvent();
  std::vector<double> taken;
  for (int round = -2; round < rounds; ++round) {
    communicator.exchange("round", ranks, {});
    const auto begin = Clock::now();
    device.record(*before, *stream);
    device.wait(team->stream(), *before);
    device.launch(team->stream(), *work, std::array<void*, 2>{in, out});
    device.record(*done, team->stream());
    device.wait(*stream, *done);
    device.synchronize(*stream);
    if (round >= 0) taken.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
  }
  device.release(in, bytes, MemoryKind::Device, *stream);
  device.release(out, bytes, MemoryKind::Device, *stream);
  std::ranges::sort(taken);
  if (communicator.rank() == 0) microseconds = taken[taken.size() / 2];
}

void measure(const std::string& transport, const Communicators& ranks, int rounds, std::vector<Measured>& results) {
  for (const CommunicationKind kind :
       {CommunicationKind::CollectivePermute, CommunicationKind::Allgather, CommunicationKind::Allreduce}) {
    for (const int64_t bytes : {int64_t{4} << 10, int64_t{1} << 20, int64_t{16} << 20, int64_t{256} << 20}) {
      Measured one = {.transport = transport, .kind = kind, .bytes = bytes};
      std::vector<std::thread> threads;
      for (const auto& communicator : ranks)
        threads.emplace_back([&] {
          try {
            runRank(*communicator, kind, bytes, rounds, one.microseconds);
          } catch (const std::exception& error) {
            std::printf("%s\n", error.what());
          }
        });
      for (std::thread& thread : threads) thread.join();
      one.gigabytes_per_second = bytesReceived(kind, bytes, std::ssize(ranks)) / one.microseconds / 1e3;
      std::printf("%-5s %-17s %10lld bytes %10.1f us %8.1f GB/s\n", transport.c_str(),
                  std::string(enumName(kind)).c_str(), static_cast<long long>(bytes), one.microseconds,
                  one.gigabytes_per_second);
      results.push_back(one);
    }
  }
}

bool writeJson(const char* path, int64_t ranks, int64_t gpus, const std::vector<Measured>& results) {
  std::FILE* const file = std::fopen(path, "w");
  if (file == nullptr) return false;
  std::string text = fmt::format("{{\"ranks\": {}, \"gpus\": {}, \"results\": [\n", ranks, gpus);
  for (size_t i = 0; i < results.size(); ++i) {
    const Measured& one = results[i];
    text +=
        fmt::format(" {{\"transport\": \"{}\", \"kind\": \"{}\", \"bytes\": {}, \"us\": {:.1f}, \"gb_s\": {:.1f}}}{}\n",
                    one.transport, enumName(one.kind), one.bytes, one.microseconds, one.gigabytes_per_second,
                    i + 1 < results.size() ? "," : "");
  }
  text += "]}\n";
  std::fputs(text.c_str(), file);
  return std::fclose(file) == 0;
}

int run(int64_t ranks, int rounds, const char* json) {
  const int64_t gpus = countCudaDevices();
  if (gpus == 0) {
    std::printf("%s\n", reasonForNoCuda().c_str());
    return 1;
  }
  ranks = std::max<int64_t>(2, ranks == 0 ? gpus : ranks);
  std::printf("%lld ranks on %lld GPUs\n", static_cast<long long>(ranks), static_cast<long long>(gpus));
  const std::chrono::seconds timeout(30);
  std::vector<Measured> results;
  const auto peers = connect(ranks, [&](Bootstrap& bootstrap, const std::shared_ptr<Device>& device) {
    return peerCommunicator(bootstrap, device, {.timeout = timeout, .reduction_kernels = {}});
  });
  measure("peer", peers, rounds, results);
  if (ranks <= gpus) {
    const auto over_nccl = connect(ranks, [&](Bootstrap& bootstrap, const std::shared_ptr<Device>& device) {
      return ncclCommunicator(bootstrap, device, {.library = {}, .timeout = timeout, .reduction_kernels = {}});
    });
    if (!over_nccl.empty()) measure("nccl", over_nccl, rounds, results);
  }
  return json == nullptr || writeJson(json, ranks, gpus, results) ? 0 : 1;
}

}  // namespace
}  // namespace tokamak

int main(int count, char** arguments) {
  int64_t ranks = 0;
  int rounds = 20;
  const char* json = nullptr;
  for (int i = 1; i + 1 < count; i += 2) {
    if (std::strcmp(arguments[i], "--ranks") == 0) ranks = std::atoi(arguments[i + 1]);
    if (std::strcmp(arguments[i], "--rounds") == 0) rounds = std::max(1, std::atoi(arguments[i + 1]));
    if (std::strcmp(arguments[i], "--json") == 0) json = arguments[i + 1];
  }
  try {
    return tokamak::run(ranks, rounds, json);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
