// Foreign names: what functions of NumPy, PyTorch and JAX are called here, for suggestions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tokamak {

/// "; did you mean 'clamp(x, low, high)'?" for the name of a call that does not exist: a function of another library
/// that is called otherwise here, else the candidate that is spelled most like it; empty when there is neither. Of a
/// function that nothing here replaces it says so.
std::string suggestionForCall(std::string_view name, const std::vector<std::string_view>& candidates);

/// For the name of a method or of what a module holds: "; did you mean 'cast(x, dtype=f32)'?" for astype, and 'exp(x)'
/// for a candidate of that name.
std::string suggestionForMethod(std::string_view name, const std::vector<std::string_view>& candidates);

/// The same for the name of a type: "; did you mean 'f32'?" for float32.
std::string suggestionForType(std::string_view name, const std::vector<std::string_view>& candidates);

/// The names that have an entry, sorted.
std::vector<std::string_view> foreignNames();

}  // namespace tokamak
