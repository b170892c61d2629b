# How every target here is compiled: language, warnings, sanitizers, compiler cache and linker.
include(CheckLinkerFlag)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_SCAN_FOR_MODULES OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
# Names are seen from outside where they say so (base/export.h).
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
# A compiler spends its time in maps and texts; what computes on tensors asks for more (written_vectors.cmake).
string(REPLACE "-O3" "-O2" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")

if(NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(TOKAMAK_CCACHE ccache)
  if(TOKAMAK_CCACHE)
    # Precompiled headers are taken for what they contain; sources use no __TIME__ and no macro that they differ by.
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${TOKAMAK_CCACHE})
  endif()
endif()

# gcc looks for memory that it no longer needs again and again below this (KiB); a source here needs about a gigabyte.
# Without that it is a tenth faster.
if(PROJECT_IS_TOP_LEVEL AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(--param=ggc-min-heapsize=800000)
endif()

# The linker is a matter of whoever builds Tokamak itself: a project that contains it keeps its own.
if(PROJECT_IS_TOP_LEVEL)
  foreach(linker mold lld)
    check_linker_flag(CXX -fuse-ld=${linker} TOKAMAK_HAS_${linker})
    if(TOKAMAK_HAS_${linker})
      add_link_options(-fuse-ld=${linker})
      break()
    endif()
  endforeach()
endif()

set(sanitizer_flags "")
if(TOKAMAK_SANITIZE STREQUAL "address")
  # A null pointer that is used faults, and what lies beyond an object is the address sanitizer's: these two took a
  # seventh of the build. Alignment, another seventh, is a matter of what walks over memory (written_vectors.cmake). An
  # object of another class than is called is one that was freed, which the address sanitizer sees, or a static_cast.
  list(APPEND sanitizer_flags -fsanitize=address,undefined -fno-sanitize=null,object-size,alignment,vptr
    -fno-sanitize-recover=all -fno-omit-frame-pointer)
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    # Functions of libraries that are loaded are called by declarations of our own, whose handles have other types.
    list(APPEND sanitizer_flags -fno-sanitize=function)
  endif()
elseif(TOKAMAK_SANITIZE STREQUAL "thread")
  list(APPEND sanitizer_flags -fsanitize=thread -fno-omit-frame-pointer)
elseif(TOKAMAK_SANITIZE)
  message(FATAL_ERROR "TOKAMAK_SANITIZE=${TOKAMAK_SANITIZE}: legal values are empty, address and thread")
endif()
add_compile_options(${sanitizer_flags})
add_link_options(${sanitizer_flags})
if(TOKAMAK_SANITIZE AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  add_compile_options("SHELL:-mllvm -inline-threshold=5")
endif()
if(TOKAMAK_FUZZERS)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "TOKAMAK_FUZZERS needs clang (libFuzzer); the compiler is ${CMAKE_CXX_COMPILER_ID}")
  endif()
endif()

# References and random programs judge the library; the address sanitizer looks at the library, and waits for them.
# Not so the thread sanitizer, which has to see every count of references.
function(tokamak_unsanitized target)
  if(TOKAMAK_SANITIZE STREQUAL "address")
    target_compile_options(${target} PRIVATE -fno-sanitize=all -O2)
  endif()
endfunction()

# Which edges an input reaches guides the fuzzers: those of the parsers, unless they are to look for days and all edges
# shall count, which takes an eighth of the build. Comparisons do not, whose instrumentation took a quarter of their
# time: mutators know the words of the texts.
option(TOKAMAK_GUIDE_BY_ALL "Guide the fuzzers by the whole library, not by its parsers alone" OFF)
function(tokamak_guide_fuzzers target)
  if(TOKAMAK_FUZZERS AND (TOKAMAK_GUIDE_BY_ALL OR target STREQUAL "tokamak_parsers"))
    target_compile_options(${target} PRIVATE -fsanitize-coverage=inline-8bit-counters,pc-table)
  endif()
endfunction()

# Warnings are errors, for our own sources only.
function(tokamak_compile_options target)
  # Designated initialisers leave members to their defaults on purpose; gcc 12 wrongly suspects std::string's operator+.
  target_compile_options(${target} PRIVATE -Wall -Wextra -Werror -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual
    -Wno-missing-field-initializers $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
    $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations>)  # libstdc++ 12's stable_sort uses what it deprecates
  # Of several sources compiled as one, clang takes constants of functions for shadows of other sources' constants; gcc,
  # and clang-tidy, see each alone.
  if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    target_compile_options(${target} PRIVATE -Wno-shadow)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND TOKAMAK_SANITIZE)
    # Instrumentation confuses gcc's flow analysis: these warnings are then about code that nobody wrote.
    target_compile_options(${target} PRIVATE -Wno-maybe-uninitialized -Wno-tsan)
  endif()
  # Messages name src/..., wherever the sources were compiled.
  target_compile_options(${target} PRIVATE -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=)
endfunction()
