// Input values: what the inputs of a run are filled with: .npy files, numbers, or random elements from a seed.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "device/run_value.h"
#include "host/ir/host_ir_container.h"
#include "ir/fusion.h"

namespace tokamak::tools {

struct InputSources {
  std::map<std::string, std::string> given;  ///< input name -> file, "-", or what input_fill.h reads
  std::map<std::string, int64_t>
      sizes;  ///< extent name -> value; where it says nothing, files do, and then the program's defaults
  uint64_t seed = 0;
  int64_t drawn_elements = INT64_MAX;  ///< of each tensor; then they repeat
};

/// One value per input of a program, in the memory that the program takes.
struct InputValues {
  std::vector<RunValue> values;
  ScalarBindings bindings;  ///< of the extents
  bool is_drawn = false;    ///< whether any of them is random
};

/// Tensors are laid out as the program requires. Random elements are normal for floating types (never zero by chance),
/// small integers, indices of the whole axis where integers become indices, and even odds for bool; the same seed gives
/// the same elements for the same sizes.
/// Errors: Usage for a name that is no input or an extent without a value; Io; Bind when a file does not fit its input.
InputValues makeInputs(const Fusion& program, const InputSources& sources, Device& device,
                       const std::shared_ptr<Stream>& stream);

/// That the extents of all inputs have values; scalar inputs stand for themselves. Errors: Usage, naming all that have
/// none.
void requireExtents(const Fusion& program, ScalarBindings bindings);

/// For a seed that is given. Errors: Usage where no input is random.
void requireRandom(const InputValues& inputs, uint64_t seed);

/// Memory of this kind for an input of these sizes, laid out as the program requires; nothing is written to it.
/// Errors: OutOfMemory.
Tensor emptyInput(const TensorView& input, std::span<const int64_t> sizes, MemoryKind kind, Device& device,
                  const std::shared_ptr<Stream>& stream);

/// The extents of a program as its defaults and the options say. Errors: Usage for options that are none, and naming
/// all extents of inputs that have no value.
ScalarBindings givenExtents(Fusion& program, const std::vector<std::string>& sizes);

/// A value per input where nobody looks at elements: memory that is not written, and ones.
std::vector<RunValue> emptyInputs(const Fusion& program, const ScalarBindings& extents, Device& device,
                                  const std::shared_ptr<Stream>& stream);

/// What an evaluator of the program is given: its inputs, and extents that no input has (of full, iota, ...). The
/// extents may be another program's, of the same names.
std::vector<std::pair<Val*, RunValue>> boundValues(const HostIrContainer& program, std::span<const RunValue> inputs,
                                                   const ScalarBindings& extents);

/// A contiguous copy of the elements of a tensor that host code can read, row-major. The data must be ready.
std::vector<std::byte> denseBytes(const Tensor& tensor);

}  // namespace tokamak::tools
