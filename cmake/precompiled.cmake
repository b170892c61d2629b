# What nearly every source includes is parsed once per build and kind of target. Sources include what they use all the
# same: the machine check `includes` looks, and clang-tidy reads each file without this.
option(TOKAMAK_PRECOMPILED_HEADERS "Parse often included headers once" ${PROJECT_IS_TOP_LEVEL})

set(TOKAMAK_OFTEN_INCLUDED <algorithm> <array> <functional> <map> <memory> <mutex> <optional> <ranges> <set> <span>
  <stop_token> <string> <string_view> <thread> <unordered_map> <utility> <variant> <vector> <fmt/format.h>
  <base/require.h> <device/device.h> <ir/ops/math/reduction_op.h>)

function(tokamak_precompile target) # [HEADER...]: what this kind of target includes often besides
  if(NOT TOKAMAK_PRECOMPILED_HEADERS)
    return()
  endif()
  target_precompile_headers(${target} PRIVATE ${ARGN} ${TOKAMAK_OFTEN_INCLUDED})
  tokamak_precompiled_options(${target})
endfunction()

function(tokamak_precompiled_like target other) # The headers of `other`, which is compiled with the same options.
  if(NOT TOKAMAK_PRECOMPILED_HEADERS)
    return()
  endif()
  target_precompile_headers(${target} REUSE_FROM ${other})
  tokamak_precompiled_options(${target})
endfunction()

# A time stamp would make each build's file another one for ccache. What gcc reads from a precompiled header no longer
# is a system header's, so that it warns of the standard library's inlined functions: of accesses in branches that are
# never taken.
function(tokamak_precompiled_options target)
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>
    $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds> $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow>
    $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overread>)
endfunction()
