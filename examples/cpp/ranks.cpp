// Ranks: each of two threads has half of the rows of x, and gets the sum of all rows.
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

#include <tokamak/tokamak.h>

using namespace tokamak;

int main() {
  const std::unique_ptr<Fusion> fusion = readFusion(R"(
fusion sums(x: f32[4, 3] mesh(0, 1)) -> y {
  y: f32[3] mesh(0, 1) = sum(x, axes=[0])
}
schedule {
  split(x, axis=0, factor=2, inner_split=false)
  parallelize(x, axis=0, type=DIDx)
}
)");
  // One processor for both; openMpiCommunicator() and openNcclCommunicator() give one rank of several processes.
  const std::vector<std::shared_ptr<Device>> devices(2, openCpuDevice());
  const auto communicators = openLocalCommunicators(devices);
  std::vector<std::vector<float>> sums(2, std::vector<float>(3));
  std::vector<std::thread> ranks;
  for (const std::unique_ptr<Communicator>& communicator : communicators) {
    ranks.emplace_back([&fusion, &sums, &communicator] {
      const int64_t rank = communicator->rank();
      Program program = compile(*fusion, *communicator);
      const std::vector<float> rows(6, rank == 0 ? 1.0F : 10.0F);
      Device& device = *communicator->device();
      program.run({Tensor::wrap(device, rows, {2, 3})}, {Tensor::wrap(device, sums[static_cast<size_t>(rank)], {3})});
    });
  }
  for (std::thread& rank : ranks) rank.join();
  std::printf("rank 0: y = %.0f %.0f %.0f\n", sums[0][0], sums[0][1], sums[0][2]);
  return sums[0] == std::vector<float>(3, 22) && sums[1] == sums[0] ? 0 : 1;
}
