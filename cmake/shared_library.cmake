# The libraries by the names that users link: tokamak::tokamak is the shared one where it is built, and
# tokamak::tokamak_static the archive. Both are of the same objects. The shared one shows what is marked by
# TOKAMAK_EXPORT (base/export.h).
add_library(tokamak::tokamak_static ALIAS tokamak)
set_target_properties(tokamak PROPERTIES EXPORT_NAME tokamak_static)
# What links the archive shows none of its names to others.
target_link_options(tokamak INTERFACE $<INSTALL_INTERFACE:LINKER:--exclude-libs,libtokamak.a>)
if(NOT TOKAMAK_SHARED)
  add_library(tokamak::tokamak ALIAS tokamak)
  return()
endif()

set(exported_names ${CMAKE_CURRENT_LIST_DIR}/exported_names.map.in)
configure_file(${exported_names} ${PROJECT_BINARY_DIR}/exported_names.map @ONLY)
add_library(tokamak_shared SHARED)
add_library(tokamak::tokamak ALIAS tokamak_shared)
# It needs a source of its own for CMake to know the language.
file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/generated/shared_library.cpp CONTENT "")
target_sources(tokamak_shared PRIVATE ${PROJECT_BINARY_DIR}/generated/shared_library.cpp)
set_target_properties(tokamak_shared PROPERTIES OUTPUT_NAME tokamak EXPORT_NAME tokamak UNITY_BUILD OFF
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
  LINK_DEPENDS ${PROJECT_BINARY_DIR}/exported_names.map)
target_link_libraries(tokamak_shared PRIVATE $<BUILD_INTERFACE:$<LINK_LIBRARY:WHOLE_ARCHIVE,tokamak>>)
target_include_directories(tokamak_shared INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>
  $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/generated>)
target_compile_features(tokamak_shared INTERFACE cxx_std_20)
# Threads that it starts, and what they are to do, may outlive whoever loaded it: it stays.
target_link_options(tokamak_shared PRIVATE LINKER:-z,nodelete $<$<STREQUAL:${TOKAMAK_SANITIZE},>:LINKER:-z,defs>
  LINKER:--version-script,${PROJECT_BINARY_DIR}/exported_names.map)
