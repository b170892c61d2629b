# Headers of NVIDIA's profiling interfaces, which are optional. Nothing is linked: NVTX (named ranges) is a header alone.
option(TOKAMAK_NVTX "Name ranges for profilers, where NVTX's header is found" ON)

# Toolkits, then Python's packages: those that scripts/setup installed, those of an environment, those of the machine.
file(GLOB cuda_include_folders
  $ENV{CUDA_PATH}/include $ENV{CUDA_PATH}/extras/CUPTI/include
  $ENV{CUDA_HOME}/include $ENV{CUDA_HOME}/extras/CUPTI/include
  /usr/local/cuda/include /usr/local/cuda/extras/CUPTI/include /usr/local/cuda/targets/*-linux/include
  ${PROJECT_SOURCE_DIR}/build/tools/*/nvidia/*/include
  $ENV{VIRTUAL_ENV}/lib/python3*/*-packages/nvidia/*/include
  $ENV{CONDA_PREFIX}/lib/python3*/*-packages/nvidia/*/include
  $ENV{HOME}/.local/lib/python3*/*-packages/nvidia/*/include
  /usr/local/lib/python3*/*-packages/nvidia/*/include
  /usr/lib/python3*/*-packages/nvidia/*/include)

find_path(TOKAMAK_NVTX_INCLUDE nvtx3/nvToolsExt.h HINTS ${cuda_include_folders})
mark_as_advanced(TOKAMAK_NVTX_INCLUDE)
if(TOKAMAK_NVTX AND TOKAMAK_NVTX_INCLUDE)
  set(TOKAMAK_HAS_NVTX ON)
else()
  set(TOKAMAK_HAS_NVTX OFF)
endif()
message(STATUS "Ranges for profilers: NVTX ${TOKAMAK_HAS_NVTX} (${TOKAMAK_NVTX_INCLUDE})")

# The one source that includes NVTX.
function(tokamak_ranges source)
  if(TOKAMAK_HAS_NVTX)
    set_source_files_properties(${source} PROPERTIES SKIP_PRECOMPILE_HEADERS ON COMPILE_DEFINITIONS TOKAMAK_HAS_NVTX=1
      COMPILE_OPTIONS "-isystem;${TOKAMAK_NVTX_INCLUDE}")
  endif()
endfunction()
