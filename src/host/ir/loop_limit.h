// The limit of iterations of host loops. Plans unroll loops, so too many iterations are refused before work starts.
#pragma once

#include <cstdint>
#include <optional>

#include "ir/fields.h"
#include "symbolic/scalar.h"

namespace tokamak {

struct ForLoop;

/// The default limit.
inline constexpr int64_t kMostIterations = 65'536;

/// The number of iterations, INT64_MAX where it does not fit; nothing where a bound is not known. Errors: HostProgram
/// for a step that is not positive.
std::optional<int64_t> iterationsOf(const ForLoop& loop, const ScalarBindings& scalars);

/// Raises Bind when the loop, in each of `around` iterations of the loops around it, has more than `most` iterations
/// in all.
void requireFewIterations(const ForLoop& loop, int64_t iterations, int64_t around, int64_t most);

/// The same for every loop in the block whose bounds are known already.
void requireFewIterations(const Block& block, const ScalarBindings& scalars, int64_t most);

}  // namespace tokamak
