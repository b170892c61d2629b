// The embedded texts that device code is put together from (src/device_code/text); the build writes the source file.
#pragma once

#include <span>
#include <string_view>

namespace tokamak {

struct DeviceText {
  /// Its path below src/device_code/text, without the suffix: "any/f64/exp".
  std::string_view path;
  std::string_view text;
};

/// All texts, sorted by path.
std::span<const DeviceText> deviceTexts();

}  // namespace tokamak
