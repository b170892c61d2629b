// OpReference: what every callable means, with an example that runs; for people who look them up.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "define/callables.h"

namespace tokamak {

struct OpReference {
  std::string_view name;
  std::string_view meaning;
  std::string_view
      inputs;             ///< of the example, "x: f32[4, 8]"; empty: made from the operands of an elementwise function
  std::string_view call;  ///< of the example, "y = softmax(x, axis=1)"; empty as well then
};

/// The rows of composites, and of structured ops whose calls are written by hand; sorted by name.
std::span<const OpReference> writtenReferences();

/// The row of this name: a written one, or what the table of functions or the op's header says. Null: there is none.
const OpReference* findReference(std::string_view name);

/// What the example calls the results; of an elementwise function, "out".
std::vector<std::string_view> exampleResults(const OpReference& reference);
/// The inputs of the example.
std::string exampleInputs(const OpReference& reference);
/// The program of the example, with these inputs.
std::string exampleProgram(const OpReference& reference, std::string_view inputs);

}  // namespace tokamak
