// The embedded sources that device code is put together from (src/device_code/source); the build writes the source
// file.
#pragma once

#include <span>
#include <string_view>

namespace tokamak {

struct DeviceSource {
  /// Its path below src/device_code/source, without the suffix: "any/f64/exp".
  std::string_view path;
  std::string_view source;
};

/// All sources, sorted by path.
std::span<const DeviceSource> deviceSources();

}  // namespace tokamak
