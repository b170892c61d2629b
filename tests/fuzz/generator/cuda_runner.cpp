#include "generator/cuda_runner.h"

#include <algorithm>

namespace tokamak::generator {

CudaRunner::CudaRunner()
    : device_(0), jit_(device_.kernelTarget(), device_.properties().architecture), stream_(device_.createStream()) {}
CudaRunner::~CudaRunner() = default;

void CudaRunner::run(const PreparedKernel& prepared, DataType index_type, std::span<const KernelBuffer> buffers) {
  const auto work = device_.makeKernelWork(jit_.compile(prepared, index_type), buffers.size());
  std::vector<void*> addresses;
  std::vector<int64_t> sizes;
  for (size_t i = 0; i < buffers.size(); ++i) {
    const int64_t bytes = std::max<int64_t>(1, buffers[i].elements) * sizeOf(prepared.kernel.tensors[i]->dtype());
    sizes.push_back(bytes);
    addresses.push_back(device_.allocate(bytes, MemoryKind::Device, *stream_));
    if (buffers[i].is_written)
      device_.copy(*stream_, addresses[i], buffers[i].address,
                   buffers[i].elements * sizeOf(prepared.kernel.tensors[i]->dtype()));
    else
      device_.fill(*stream_, addresses[i], 0xA5, bytes);
  }
  // Twice: what the first run leaves behind must not matter to the second.
  device_.launch(*stream_, *work, addresses);
  device_.launch(*stream_, *work, addresses);
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (!buffers[i].is_written)
      device_.copy(*stream_, buffers[i].address, addresses[i],
                   buffers[i].elements * sizeOf(prepared.kernel.tensors[i]->dtype()));
  }
  device_.synchronize(*stream_);
  for (size_t i = 0; i < buffers.size(); ++i) device_.release(addresses[i], sizes[i], MemoryKind::Device, *stream_);
}

}  // namespace tokamak::generator
