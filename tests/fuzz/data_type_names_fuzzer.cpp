// Any bytes as an element type's name: refused, or a name that is printed back.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "symbolic/data_type.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view name(reinterpret_cast<const char*>(data), size);
  const auto type = tokamak::dataTypeFromName(name);
  if (type && tokamak::dataTypeName(*type) != name) std::abort();
  const auto dumped = tokamak::dataTypeFromDumpName(name);
  if (dumped && tokamak::dumpName(*dumped) != name) std::abort();
  return 0;
}
