// Size errors: which ops of a program's text refuse the sizes that a run was given.
#pragma once

#include <type_traits>

#include "analysis/bind_shape.h"
#include "base/error.h"
#include "tools/program_file.h"

namespace tokamak::tools {

/// For an error of sizes that do not fit: which ops cannot take them, with their places and the extents as they are
/// written. Where every op's rule holds, the text is read again with these sizes, and what it refuses is told.
/// Unchanged where no op refuses them, or the error is another one.
Error withSizes(const Error& error, const ProgramFile& file, const ScalarBindings& sizes);

/// Runs `action`, whose errors go through withSizes.
template <class Action>
std::invoke_result_t<Action> withOwnSizeErrors(const ProgramFile& file, const ScalarBindings& sizes,
                                               const Action& action) {
  try {
    return action();
  } catch (const Error& error) {
    throw withSizes(error, file, sizes);
  }
}

}  // namespace tokamak::tools
