// StreamMemory: a work's own device memory, a block per stream.
#pragma once

#include <memory>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/cuda/driver_context.h"

namespace tokamak {

/// Streams run concurrently, so each gets a block at its first request. Thread-safe.
class StreamMemory {
 public:
  StreamMemory(std::shared_ptr<DriverContext> context, int64_t bytes) : context_(std::move(context)), bytes_(bytes) {}
  StreamMemory(const StreamMemory&) = delete;
  StreamMemory& operator=(const StreamMemory&) = delete;
  ~StreamMemory();

  /// The stream's block, which is zero when work that is enqueued there now first runs. `user`: for messages. Errors:
  /// OutOfMemory, Device.
  void* on(driver::Stream stream, std::string_view user);

 private:
  std::shared_ptr<DriverContext> context_;
  int64_t bytes_;
  std::mutex mutex_;
  std::vector<std::pair<driver::Stream, driver::Address>> blocks_;
};

}  // namespace tokamak
