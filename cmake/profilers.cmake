# Headers of NVIDIA's profiling interfaces. Both are optional, and nothing is linked: NVTX (named ranges) is a header
# alone; CUPTI (times of the GPU) is loaded at run time, and its header says how its records lie in memory.
option(TOKAMAK_NVTX "Name ranges for profilers, where NVTX's header is found" ON)
option(TOKAMAK_CUPTI "Take the times of --trace from CUPTI, where its header is found" ON)

# What the compiler is told by the environment, toolkits, then Python's packages: those that scripts/setup installed,
# those of an environment, those of the machine.
string(REPLACE ":" ";" include_patterns "$ENV{CPLUS_INCLUDE_PATH}")
foreach(toolkit $ENV{CUDA_PATH} $ENV{CUDA_HOME} /usr/local/cuda)
  list(APPEND include_patterns ${toolkit}/include ${toolkit}/extras/CUPTI/include ${toolkit}/targets/*-linux/include)
endforeach()
list(APPEND include_patterns ${PROJECT_SOURCE_DIR}/build/tools/*/nvidia/*/include)
foreach(root $ENV{VIRTUAL_ENV} $ENV{CONDA_PREFIX} $ENV{HOME}/.local /usr/local /usr)
  list(APPEND include_patterns ${root}/lib/python3*/*-packages/nvidia/*/include)
endforeach()
set(cuda_include_folders "")
foreach(pattern IN LISTS include_patterns)  # one by one: what a single search finds is sorted by name
  file(GLOB found ${pattern})
  list(APPEND cuda_include_folders ${found})
endforeach()

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

# The newest of the structures that the header has for one kind of record, which is the one that the library writes:
# CUpti_ActivityKernel10, say. One without a number is of the first version, and not looked for.
function(tokamak_newest_record header name result)
  set(newest NOTFOUND)
  if(EXISTS ${header})
    file(READ ${header} text)
    string(REGEX MATCHALL "} *CUpti_Activity${name}[0-9]+ *[;]" declarations "${text}")
    string(REGEX MATCHALL "${name}[0-9]+" names "${declarations}")
    list(TRANSFORM names REPLACE "${name}" "")
    list(SORT names COMPARE NATURAL)
    if(names)
      list(GET names -1 newest)
    endif()
  endif()
  set(${result} CUpti_Activity${name}${newest} PARENT_SCOPE)
endfunction()

# cupti.h includes the driver's header and some of the compiler's, which may be another package's: only what compiles is
# there.
find_path(TOKAMAK_CUPTI_INCLUDE cupti.h HINTS ${cuda_include_folders})
find_path(TOKAMAK_CUDA_INCLUDE cuda.h HINTS ${TOKAMAK_CUPTI_INCLUDE} ${TOKAMAK_CUPTI_INCLUDE}/../../../include ${cuda_include_folders})
mark_as_advanced(TOKAMAK_CUPTI_INCLUDE TOKAMAK_CUDA_INCLUDE)
set(TOKAMAK_HAS_CUPTI OFF)
if(TOKAMAK_CUPTI AND TOKAMAK_CUPTI_INCLUDE AND TOKAMAK_CUDA_INCLUDE)
  set(cupti_records "")
  foreach(record Kernel Memcpy MemcpyPtoP Memset)
    tokamak_newest_record(${TOKAMAK_CUPTI_INCLUDE}/cupti_activity.h ${record} type)
    string(TOUPPER ${record} upper)
    list(APPEND cupti_records TOKAMAK_CUPTI_${upper}=${type})
  endforeach()
  include(CheckCXXSourceCompiles)
  block()
    set(CMAKE_REQUIRED_INCLUDES ${TOKAMAK_CUPTI_INCLUDE} ${TOKAMAK_CUDA_INCLUDE})
    list(TRANSFORM cupti_records PREPEND -D OUTPUT_VARIABLE CMAKE_REQUIRED_DEFINITIONS)
    check_cxx_source_compiles("
      #include <cupti.h>
      template <class R> auto lastOf(const R& record) { return record.end - record.start + record.correlationId; }
      int main() {
        return CUPTI_API_VERSION + int(lastOf(TOKAMAK_CUPTI_KERNEL{}) + lastOf(TOKAMAK_CUPTI_MEMCPY{}) +
                                       lastOf(TOKAMAK_CUPTI_MEMCPYPTOP{}) + lastOf(TOKAMAK_CUPTI_MEMSET{}));
      }" TOKAMAK_CUPTI_COMPILES)
  endblock()
  if(TOKAMAK_CUPTI_COMPILES)
    set(TOKAMAK_HAS_CUPTI ON)
  endif()
endif()
message(STATUS "Times of GPU timelines: CUPTI ${TOKAMAK_HAS_CUPTI} (${TOKAMAK_CUPTI_INCLUDE}) ${cupti_records}")

# A source that includes CUPTI.
function(tokamak_cupti source)
  if(TOKAMAK_HAS_CUPTI)
    set_source_files_properties(${source} PROPERTIES SKIP_PRECOMPILE_HEADERS ON
      COMPILE_DEFINITIONS "TOKAMAK_HAS_CUPTI=1;${cupti_records}"
      COMPILE_OPTIONS "-isystem;${TOKAMAK_CUPTI_INCLUDE};-isystem;${TOKAMAK_CUDA_INCLUDE}")
  endif()
endfunction()
