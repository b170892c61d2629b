#include "runtime/cuda/cuda_workspace.h"

#include <algorithm>
#include <array>

#include "base/require.h"

namespace tokamak {

namespace {

constexpr size_t kMostOperands = 1024;

}  // namespace

void CudaWorkspaceWork::enqueue(DriverContext& context, driver::Stream stream, std::span<void* const> addresses) const {
  std::array<void*, kMostOperands> all;  // NOLINT(cppcoreguidelines-pro-type-member-init): written before it is read
  TK_CHECK(addresses.size() < all.size(), "kernel {} has {} operands", name(), addresses.size());
  std::ranges::copy(addresses, all.begin());
  all[addresses.size()] = workspaceOf(stream);
  kernel_->enqueue(context, stream, {all.data(), addresses.size() + 1});
}

}  // namespace tokamak
