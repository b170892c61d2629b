// CallState: what a call of a program needs, kept for the next one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "compile/argument.h"
#include "device/output_layout.h"
#include "device/tensor.h"
#include "host/plan/call_memo.h"
#include "python/array_type.h"
#include "symbolic/scalar.h"

namespace tokamak::python {

/// How the outputs of calls with some key lie.
struct KnownLayouts {
  std::vector<int64_t> key;
  std::vector<OutputLayout> outputs;
  std::vector<Argument> inputs;  ///< of a call with this key; tensors without their memory
  bool are_own = true;           ///< each has memory of its own
  bool are_programs = true;      ///< they lie as the program's own would; else calls give outputs in full
};

/// Tensors over the arrays of the last call: an array that comes again in its place takes nothing from the heap. Its
/// memory may belong to another array meanwhile: the tensors say nothing of its contents. They go when some work has
/// failed since, as what failed would stick to the addresses.
/// Thread safety: for one call at a time.
class CallState {
 public:
  CallState(Device& device, size_t input_count, size_t output_count)
      : inputs(input_count), outputs(output_count), device_(device), stream_(device.createStream()) {
    begin();
  }

  /// Before the first tensor of a call.
  void begin();
  /// Whether some work has failed since begin().
  bool isSpent() const { return device_.raiseCount().load() != raises_; }
  /// Work of the call goes to this stream of a GPU.
  void adopt(const CallersStream& stream);
  /// The tensor over the array, in its place; notes where it lies otherwise than the last one there. Errors: Bind.
  void put(const ArrayView& array, Tensor& place);
  /// The call is done: the next one may lie alike.
  void noteDone() { memo.lies_alike = true; }
  Stream& stream() const { return *stream_; }

  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;
  std::vector<ScalarValue> scalars;
  const ArrayType* type = nullptr;              ///< of the first array of the call; null: NumPy's
  std::vector<int64_t> key;                     ///< of the call
  std::shared_ptr<const KnownLayouts> layouts;  ///< of the last call
  CallMemo memo;                                ///< whose flag says so of what was put since the last call

 private:
  Device& device_;
  std::shared_ptr<Stream> stream_;
  std::optional<std::pair<void*, PyObject*>> adopted_;  // handle and owner of the stream, which holds the owner
  uint32_t raises_ = 0;
};

}  // namespace tokamak::python
