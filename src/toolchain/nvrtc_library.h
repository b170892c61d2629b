// NvrtcLibrary: NVIDIA's run-time compiler, loaded where it is found; own declarations of the few functions that are
// used.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace tokamak {

struct NvrtcLibrary {
  using Program = void*;

  int (*version)(int* major, int* minor) = nullptr;
  const char* (*error_string)(int status) = nullptr;
  int (*create_program)(Program* program, const char* source, const char* name, int header_count,
                        const char* const* headers, const char* const* include_names) = nullptr;
  int (*destroy_program)(Program* program) = nullptr;
  int (*compile_program)(Program program, int option_count, const char* const* options) = nullptr;
  int (*cubin_size)(Program program, size_t* bytes) = nullptr;
  int (*cubin)(Program program, char* to) = nullptr;
  int (*log_size)(Program program, size_t* bytes) = nullptr;
  int (*log)(Program program, char* to) = nullptr;
  int (*architecture_count)(int* count) = nullptr;
  int (*architectures)(int* to) = nullptr;  ///< capabilities as numbers: 90 for sm_90

  std::string path;  ///< the file that was loaded

  /// The library that this process has loaded already, by whomever, if $TOKAMAK_NVRTC does not name one.
  static std::optional<NvrtcLibrary> alreadyLoaded();
  /// Loads the library and keeps it for ever: $TOKAMAK_NVRTC if it is set, else what is loaded already, the loader's
  /// usual names, the folders of a CUDA toolkit, those of Python packages. Errors: Unsupported, with everything that
  /// was tried.
  static NvrtcLibrary search();
  /// Loads this file. Errors: Unsupported.
  static NvrtcLibrary open(const std::string& file);
};

/// The environment that steers search(), as one text.
std::string nvrtcEnvironment();

/// The files and names that search() tries, in order. Pure names are left to the loader.
std::vector<std::string> nvrtcCandidates();

}  // namespace tokamak
