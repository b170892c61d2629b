// Capture: a caller's recording of a stream.
#pragma once

#include <memory>

namespace tokamak {

/// A caller's recording of a stream's work, which is not run but becomes part of something that he runs later, as often
/// as he likes (a CUDA graph). While it lives, the calling thread may use the device as always.
/// Thread safety: belongs to the thread that joined.
class Capture {
 public:
  virtual ~Capture() = default;
  /// What the recorded work uses; let go some time after the last thing that was made of the recording is gone.
  virtual void keep(std::shared_ptr<void> used) = 0;
};

}  // namespace tokamak
