// Input fills: what "--input x=ones" means where it names no file: words and numbers instead of a .npy file.
#pragma once

#include <optional>
#include <string>

#include "symbolic/scalar.h"

namespace tokamak::tools {

/// What the elements of an input are: drawn from a distribution, or all the same.
struct InputFill {
  enum class Kind : uint8_t { Normal, Uniform, Same };
  Kind kind = Kind::Normal;
  ScalarValue value = int64_t{0};  ///< of Same
};

/// "ones", "zeros", "rand" (uniform between 0 and 1), "randn" (normal, as without --input) or a number; nothing for any
/// other text, which names a file.
std::optional<InputFill> inputFillOf(const std::string& text);

/// The number that a text is, as int64_t or double; nothing when it is none.
std::optional<ScalarValue> numberIn(const std::string& text);

}  // namespace tokamak::tools
