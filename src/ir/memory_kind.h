// Kinds of memory a device can allocate.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tokamak {

enum class MemoryKind : uint8_t {
  Device,  ///< the device's own memory
  Pinned,  ///< host memory that the device can reach directly
  Host,    ///< pageable host memory
};

inline constexpr std::array<MemoryKind, 3> kAllMemoryKinds = {MemoryKind::Device, MemoryKind::Pinned, MemoryKind::Host};

/// device, pinned, host.
constexpr std::string_view memoryKindName(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::Device: return "device";
    case MemoryKind::Pinned: return "pinned";
    case MemoryKind::Host: return "host";
  }
  return "";
}

constexpr std::optional<MemoryKind> memoryKindFromName(std::string_view name) {
  for (const MemoryKind kind : kAllMemoryKinds) {
    if (memoryKindName(kind) == name) return kind;
  }
  return std::nullopt;
}

}  // namespace tokamak
