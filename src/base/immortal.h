// Immortal: a value that is never destroyed, as threads may use it while the process exits.
#pragma once

#include <utility>

namespace tokamak {

/// For tables that functions make when they are first called: static const auto& rows = *immortal(makeRows());
/// A pointer, as gcc 13 takes a reference for one to the argument.
template <class T>
const T* immortal(T value) {
  return new const T(std::move(value));
}

}  // namespace tokamak
