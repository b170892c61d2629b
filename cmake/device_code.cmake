# Embeds src/device_code/source/**.c into the library: generated/device_code/sources.cpp holds every file as a pair
# (path without suffix, source), sorted by path. Appends to TOKAMAK_SOURCES.
file(GLOB_RECURSE device_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/device_code/source/*.c)
list(SORT device_sources)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${device_sources})
set(device_source_list "// The sources of src/device_code/source, gathered by the build.\n#include \"device_code/sources.h\"\n\nnamespace tokamak {\n
namespace {\nconstexpr DeviceSource kSources[] = {\n")
foreach(file IN LISTS device_sources)
  file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR}/src/device_code/source ${file})
  string(REGEX REPLACE "\\.c$" "" path "${path}")
  file(READ ${file} text)
  string(APPEND device_source_list "{\"${path}\", R\"text(${text})text\"},\n")
endforeach()
string(APPEND device_source_list "};\n}  // namespace\n\nstd::span<const DeviceSource> deviceSources() { return kSources; }\n
}  // namespace tokamak\n")
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/device_code/sources.cpp CONTENT "${device_source_list}" @ONLY)
list(APPEND TOKAMAK_SOURCES ${PROJECT_BINARY_DIR}/generated/device_code/sources.cpp)
