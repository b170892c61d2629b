// OwnArray: an array in the library's own memory, for libraries that take arrays and lend no memory for them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include <nanobind/nanobind.h>

#include "device/output_layout.h"
#include "python/callers_stream.h"
#include "python/opened_device.h"

namespace tokamak::python {

/// Thread safety: with the interpreter's lock.
class OwnArray {
 public:
  /// Memory of the device that lies as `layout` says; without a stream, on one of its own. Errors: OutOfMemory.
  OwnArray(std::shared_ptr<OpenedDevice> device, const OutputLayout& layout,
           const std::optional<CallersStream>& stream);

  const Tensor& tensor() const { return tensor_; }
  const std::shared_ptr<OpenedDevice>& device() const { return device_; }
  dlpack::Device place() const { return device_->place(); }
  /// As __dlpack__ gives it: a capsule of an array of DLPack 1.x where the taker knows that, else of 0.x. With a stream
  /// of a GPU, whose numbers are those of the protocol, the data is there for work on that. Errors: Bind for a stream
  /// on a processor; of the work that made the data.
  nanobind::object capsule(std::optional<int64_t> stream, bool is_versioned) const;

 private:
  std::shared_ptr<OpenedDevice> device_;
  Tensor tensor_;
};

}  // namespace tokamak::python
