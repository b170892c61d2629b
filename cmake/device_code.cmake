# Embeds src/device_code/text/**.c into the library: generated/device_code/texts.cpp holds every file as a pair (path
# without suffix, text), sorted by path. Appends to TOKAMAK_SOURCES.
file(GLOB_RECURSE device_texts CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/device_code/text/*.c)
list(SORT device_texts)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${device_texts})
set(device_text_source "// The texts of src/device_code/text, gathered by the build.\n#include \"device_code/texts.h\"\n\nnamespace tokamak {\n
namespace {\nconstexpr DeviceText kTexts[] = {\n")
foreach(file IN LISTS device_texts)
  file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR}/src/device_code/text ${file})
  string(REGEX REPLACE "\\.c$" "" path "${path}")
  file(READ ${file} text)
  string(APPEND device_text_source "{\"${path}\", R\"text(${text})text\"},\n")
endforeach()
string(APPEND device_text_source "};\n}  // namespace\n\nstd::span<const DeviceText> deviceTexts() { return kTexts; }\n
}  // namespace tokamak\n")
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/device_code/texts.cpp CONTENT "${device_text_source}" @ONLY)
list(APPEND TOKAMAK_SOURCES ${PROJECT_BINARY_DIR}/generated/device_code/texts.cpp)
