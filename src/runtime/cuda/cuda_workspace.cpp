#include "runtime/cuda/cuda_workspace.h"

#include <algorithm>
#include <array>

#include "base/error.h"

namespace tokamak {

namespace {

constexpr size_t kMostOperands = 1024;

}  // namespace

CudaWorkspaceWork::~CudaWorkspaceWork() {
  context_->quietly([&](const DriverLibrary& driver) {
    for (const auto& [stream, address] : workspaces_) driver.memory_free(address);
  });
}

void* CudaWorkspaceWork::workspaceOf(DriverContext& context, driver::Stream stream) const {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(workspaces_, stream, &std::pair<driver::Stream, driver::Address>::first);
  if (found != workspaces_.end()) return reinterpret_cast<void*>(found->second);  // NOLINT(performance-no-int-to-ptr)
  const CurrentContext current(context);
  driver::Address address = 0;
  const auto bytes = static_cast<size_t>(bytes_);
  context.check(context.withRoom([&] { return context.driver().memory_allocate(&address, bytes); }),
                "allocating {} bytes for the blocks of {}", bytes_, name());
  workspaces_.emplace_back(stream, address);
  context.check(context.driver().fill_async(address, 0, bytes, stream), "clearing the workspace of {}", name());
  return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr): the driver's addresses are integers
}

void CudaWorkspaceWork::enqueue(DriverContext& context, driver::Stream stream, std::span<void* const> addresses) const {
  std::array<void*, kMostOperands> all;  // NOLINT(cppcoreguidelines-pro-type-member-init): written before it is read
  TK_CHECK(addresses.size() < all.size(), "kernel {} has {} operands", name(), addresses.size());
  std::ranges::copy(addresses, all.begin());
  all[addresses.size()] = workspaceOf(context, stream);
  kernel_->enqueue(context, stream, {all.data(), addresses.size() + 1});
}

}  // namespace tokamak
