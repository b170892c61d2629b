// Which caches of a GPU a copy goes through.
#pragma once

#include <cstdint>

namespace tokamak {

enum class CacheOp : uint8_t { Unspecified, AllLevels, Streaming, Global };

/// Of a copy of which nothing else is said.
inline constexpr CacheOp kUsualCacheOp = CacheOp::Streaming;

}  // namespace tokamak
