#include "toolchain/nvrtc_library.h"

#include <dlfcn.h>

#include "toolchain/library_search.h"

namespace tokamak {

namespace {

// Whether the library has this function.
template <class Function>
bool resolve(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

std::optional<NvrtcLibrary> functionsOf(void* handle, const std::string& name) {
  NvrtcLibrary library;
  const bool has_all =
      resolve(handle, "nvrtcVersion", library.version) &&
      resolve(handle, "nvrtcGetErrorString", library.error_string) &&
      resolve(handle, "nvrtcCreateProgram", library.create_program) &&
      resolve(handle, "nvrtcDestroyProgram", library.destroy_program) &&
      resolve(handle, "nvrtcCompileProgram", library.compile_program) &&
      resolve(handle, "nvrtcGetNumSupportedArchs", library.architecture_count) &&
      resolve(handle, "nvrtcGetSupportedArchs", library.architectures) &&
      resolve(handle, "nvrtcGetCUBINSize", library.cubin_size) && resolve(handle, "nvrtcGetCUBIN", library.cubin) &&
      resolve(handle, "nvrtcGetProgramLogSize", library.log_size) && resolve(handle, "nvrtcGetProgramLog", library.log);
  if (!has_all) return std::nullopt;
  library.path = fileOfFunction(reinterpret_cast<void*>(library.version), name);
  return library;
}

// What is found goes to `found`.
LibrarySearch searchFor(std::optional<NvrtcLibrary>& found) {
  return {{.title = "NVRTC",
           .purpose = "compiles CUDA",
           .variable = "TOKAMAK_NVRTC",
           .sonames = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"},
           .pattern = "libnvrtc.so.1[0-9]",
           .packages = {"cuda_nvrtc", "cu1[0-9]"}},
          "it lacks functions of NVRTC 11.1 or later",
          [&found](void* handle, const std::string& name) {
            found = functionsOf(handle, name);
            return found.has_value();
          }};
}

}  // namespace

std::vector<std::string> nvrtcCandidates() {
  std::optional<NvrtcLibrary> found;
  return searchFor(found).candidates();
}

std::string nvrtcEnvironment() {
  std::optional<NvrtcLibrary> found;
  return searchFor(found).environment();
}

std::optional<NvrtcLibrary> NvrtcLibrary::alreadyLoaded() {
  std::optional<NvrtcLibrary> found;
  searchFor(found).takeLoaded();
  return found;
}

NvrtcLibrary NvrtcLibrary::open(const std::string& file) {
  std::optional<NvrtcLibrary> found;
  searchFor(found).open(file);
  return *found;
}

NvrtcLibrary NvrtcLibrary::search() {
  std::optional<NvrtcLibrary> found;
  searchFor(found).search();
  return *found;
}

}  // namespace tokamak
