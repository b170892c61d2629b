// The NCCL transport as a case of the suite: a fake GPU per rank, and the fake NCCL between them.
#include <array>
#include <thread>

#include "compile/temporary_folder.h"
#include "dist/nccl/nccl_communicator.h"
#include "fake_nccl.h"
#include "ranks_fixture.h"

namespace tokamak {

std::string fakeReductionKernels() {
  std::string image = "fake module\n";
  for (const std::string type : {"f16", "bf16", "f32", "f64"})
    for (const std::string kernel : {"order_max_", "order_min_", "restore_", "widen_", "narrow_"})
      image += kernel + type + " " + kernel + type + " 8 8 8\n";
  return image;
}

std::vector<std::unique_ptr<Communicator>> fakeNcclCommunicators(int64_t ranks, const NcclOptions& given) {
  NcclOptions options = given;
  options.library = TOKAMAK_FAKE_DRIVER;
  options.reduction_kernels = fakeReductionKernels();
  const auto bootstraps = threadBootstraps(ranks, std::chrono::seconds(20));
  std::vector<std::unique_ptr<Communicator>> made(static_cast<size_t>(ranks));
  std::vector<std::shared_ptr<Device>> devices;  // one after the other: each start reads the driver's settings
  for (int64_t rank = 0; rank < ranks; ++rank) devices.push_back(openFakeDevice({}, rank));
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < made.size(); ++rank)
    threads.emplace_back([&, rank] { made[rank] = ncclCommunicator(*bootstraps[rank], devices[rank], options); });
  for (std::thread& thread : threads) thread.join();
  return made;
}

std::vector<TransportCase> ncclTransportCases() {
  return {{.name = "nccl_fake",
           .make =
               [](int64_t ranks, std::chrono::milliseconds timeout) {
                 const FakeSettings settings(kFakeGpus);
                 return fakeNcclCommunicators(ranks, {.library = {}, .timeout = timeout, .reduction_kernels = {}});
               },
           .compares_all = false}};
}

}  // namespace tokamak
