# The library's loops over elements: vectors are written in their sources (src/loops/lanes.h), and nothing is left to
# those optimisations of loops by which compilers have miscompiled: vectorisers, peeling, threading of jumps, copies of
# loops. The same as for generated C (src/toolchain/c_compiler_probe.cpp).
include(CheckCXXSourceCompiles)

# Those of the options that the compiler takes: all of them by one question, as a rule, else each by its own.
function(tokamak_taken_options result) # OPTION...: one that takes words of its own is one text
  set(CMAKE_REQUIRED_QUIET ON)
  set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)  # linking, clang calls some of them unused
  list(JOIN ARGN " " all)
  string(MD5 name "${all}")
  set(CMAKE_REQUIRED_FLAGS "-Werror ${all}")
  check_cxx_source_compiles("int main() {}" TOKAMAK_TAKES_${name})
  if(TOKAMAK_TAKES_${name})
    set(taken ${ARGN})
  else()
    set(taken "")
    foreach(option IN LISTS ARGN)
      string(MAKE_C_IDENTIFIER "${option}" name)
      set(CMAKE_REQUIRED_FLAGS "-Werror ${option}")
      check_cxx_source_compiles("int main() {}" TOKAMAK_TAKES_${name})
      if(TOKAMAK_TAKES_${name})
        list(APPEND taken "${option}")
      endif()
    endforeach()
  endif()
  list(JOIN taken " " taken)
  separate_arguments(taken)
  set(${result} ${taken} PARENT_SCOPE)
endfunction()

if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  tokamak_taken_options(TOKAMAK_OPTIMISATIONS_OFF -fno-vectorize -fno-slp-vectorize -fno-unroll-loops "-mllvm -unroll-allow-peeling=false"
    "-mllvm -unroll-full-max-count=0" "-mllvm -jump-threading-threshold=0" "-mllvm -unswitch-threshold=0")
else()
  tokamak_taken_options(TOKAMAK_OPTIMISATIONS_OFF -fno-tree-vectorize -fno-tree-loop-vectorize -fno-tree-slp-vectorize -fno-thread-jumps
    -fno-peel-loops -fno-split-loops -fno-unswitch-loops -fno-predictive-commoning -fno-tree-loop-distribution -fno-loop-interchange
    -fno-loop-unroll-and-jam -fno-version-loops-for-strides --param=max-completely-peel-times=0 --param=max-completely-peeled-insns=0
    --param=max-jump-thread-duplication-stmts=0)
endif()

# What computes on tensors is optimised further than the rest. Nobody reads floating-point exceptions or errno; every
# operation is rounded. How wide vectors are handed to functions, of which psabi warns, never matters: all that has them
# is inlined. (A source's options are set once: a second call replaces them.)
function(tokamak_written_vectors) # SOURCE...
  set(options $<$<CONFIG:Release>:-O3> -fno-trapping-math -fno-math-errno -ffp-contract=off -Wno-psabi
    ${TOKAMAK_OPTIMISATIONS_OFF})
  if(TOKAMAK_SANITIZE STREQUAL "address")
    list(APPEND options -fsanitize=alignment)
  endif()
  set_source_files_properties(${ARGN} PROPERTIES SKIP_PRECOMPILE_HEADERS ON COMPILE_OPTIONS "${options}")
endfunction()
