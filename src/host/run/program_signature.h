// ProgramSignature: what a host program takes and gives, and the values that a caller gave for that.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "device/hazard_tracker.h"
#include "device/run_value.h"
#include "device/tensor.h"
#include "host/ir/host_ir_container.h"

namespace tokamak {

/// The values of one call, in the program's order.
struct CallValues {
  std::vector<Tensor> inputs;                            ///< the tensors among the inputs
  std::vector<std::pair<Scalar*, ScalarValue>> scalars;  ///< the scalars among the inputs, by id
  std::vector<Tensor> outputs;                           ///< undefined where the caller gave none
};

/// Immutable; outlived by the program and the device.
/// Thread safety: does not change once it is made: any threads may ask side by side.
class ProgramSignature {
 public:
  ProgramSignature(const HostIrContainer& program, const Device& device);

  const std::vector<TensorView*>& tensors() const { return tensors_; }  ///< the tensors among the inputs
  const std::vector<Scalar*>& scalars() const { return scalars_; }      ///< the scalars among the inputs

  /// Errors: Bind for a value that nothing asks for, that is given twice, or of the wrong kind.
  CallValues bind(const std::vector<std::pair<Val*, RunValue>>& values) const;
  /// What a plan's key does not tell: that everything is there, on this device, and apart. Takes nothing from the
  /// heap. Errors: Bind.
  void requirePlaces(std::span<const Tensor> inputs, std::span<const Tensor> outputs) const;
  /// What a plan's key tells: types, kinds of memory, sizes and strides. Adds what sizes bind to `scalars`.
  /// Errors: Bind.
  void validate(const CallValues& call, ScalarBindings& scalars) const;

  /// Whether the output is an input, or what the program writes into its memory.
  bool isInPlace(size_t output) const { return in_place_of_[output] >= 0; }
  /// Whether the caller gave memory of its own for an output: not none, and not the input that the output updates.
  bool isGiven(const CallValues& call, size_t output) const;
  /// What a call with these tensors reads and writes of the caller's memory.
  void addAccesses(OrderedCall& ordered, std::span<const Tensor> inputs, std::span<const Tensor> outputs) const;

 private:
  const HostIrContainer& program_;
  const Device& device_;
  std::vector<TensorView*> tensors_;
  std::vector<Scalar*> scalars_;
  std::vector<bool> is_updated_;      ///< per input tensor: the program writes it
  std::vector<int64_t> in_place_of_;  ///< per output: the number of the input tensor it is an alias of, or -1
};

/// From the first to the last element.
int64_t spanBytes(const Tensor& tensor);
/// What the caller gave that the address lies in. Errors: Internal when there is none.
const Tensor& memoryAt(const CallValues& call, const void* address);

}  // namespace tokamak
