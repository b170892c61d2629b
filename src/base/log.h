// Log: where the library says what a caller should know and no result tells: a missing compiler, a cache that keeps
// nothing, a kernel without optimisation.
#pragma once

#include <functional>
#include <string_view>

#include "base/export.h"

namespace tokamak {

/// Takes a sentence without a line end, in UTF-8, which is valid during the call only. Called on any thread, also on
/// those of the library, by several at once, and perhaps under a lock of the library: it does not call the library.
/// What it raises is dropped.
using LogFunction = std::function<void(std::string_view text)>;

/// From now on the function is told, for all of the process; without one a line is written to standard error, after
/// "tokamak: ". Calls of the function before may still be under way on other threads; it is destroyed after the last.
/// Thread safety: any thread may call it at any time, side by side.
TOKAMAK_EXPORT void setLogFunction(LogFunction log);

}  // namespace tokamak
