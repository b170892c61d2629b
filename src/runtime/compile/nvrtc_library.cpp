#include "runtime/compile/nvrtc_library.h"

#include <cstdlib>
#include <optional>

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <glob.h>

#include "base/error.h"

namespace tokamak {

namespace {

const char* const kNames[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};

std::string environmentValue(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : value;
}

std::vector<std::string> matchesOf(const std::string& pattern) {
  std::vector<std::string> result;
  glob_t found = {};
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0)
    for (size_t i = 0; i < found.gl_pathc; ++i) result.emplace_back(found.gl_pathv[i]);
  globfree(&found);
  return result;
}

// Folders that may hold the library; stars stand for versions.
std::vector<std::string> folderPatterns() {
  std::vector<std::string> result;
  if (!environmentValue("TOKAMAK_NVRTC").empty()) return result;
  for (const std::string& toolkit :
       {environmentValue("CUDA_PATH"), environmentValue("CUDA_HOME"), std::string("/usr/local/cuda")})
    if (!toolkit.empty())
      for (const char* const folder : {"lib64", "lib", "targets/*-linux/lib"})
        result.push_back(fmt::format("{}/{}", toolkit, folder));
  std::vector<std::string> packages;
  const std::string python_path = environmentValue("PYTHONPATH");
  for (size_t begin = 0; begin < python_path.size();) {
    const size_t end = std::min(python_path.find(':', begin), python_path.size());
    if (end > begin) packages.push_back(python_path.substr(begin, end - begin));
    begin = end + 1;
  }
  for (const std::string& root : {environmentValue("VIRTUAL_ENV"), environmentValue("CONDA_PREFIX"),
                                  environmentValue("HOME") + "/.local", std::string("/usr/local"), std::string("/usr")})
    if (root.starts_with('/') && root != "/.local") packages.push_back(fmt::format("{}/lib/python3*/*-packages", root));
  for (const std::string& folder : packages)
    for (const char* const package : {"cuda_nvrtc", "cu1[0-9]"})
      result.push_back(fmt::format("{}/nvidia/{}/lib", folder, package));
  return result;
}

std::string fileOf(void* function, const std::string& otherwise) {
  Dl_info info = {};
  return dladdr(function, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : otherwise;
}

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
      resolve(handle, "nvrtcGetCUBINSize", library.cubin_size) && resolve(handle, "nvrtcGetCUBIN", library.cubin) &&
      resolve(handle, "nvrtcGetProgramLogSize", library.log_size) && resolve(handle, "nvrtcGetProgramLog", library.log);
  if (!has_all) return std::nullopt;
  library.path = fileOf(reinterpret_cast<void*>(library.version), name);
  return library;
}

// Loads `candidate` for ever: the library has threads and exit handlers of its own. On failure `reason` says why.
std::optional<NvrtcLibrary> tryToLoad(const std::string& candidate, std::string& reason) {
  void* const handle = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL);
  const char* const failure = handle == nullptr ? dlerror() : "it lacks functions of NVRTC 11.1 or later";
  reason = failure == nullptr ? "it cannot be loaded" : failure;
  return handle == nullptr ? std::nullopt : functionsOf(handle, candidate);
}

}  // namespace

std::vector<std::string> nvrtcCandidates() {
  if (const std::string named = environmentValue("TOKAMAK_NVRTC"); !named.empty()) return {named};
  std::vector<std::string> result(std::begin(kNames), std::end(kNames));
  for (const std::string& pattern : folderPatterns())
    for (std::string& file : matchesOf(pattern + "/libnvrtc.so.1[0-9]")) result.push_back(std::move(file));
  return result;
}

std::string nvrtcEnvironment() {
  std::string result;
  for (const char* const name : {"TOKAMAK_NVRTC", "CUDA_PATH", "CUDA_HOME", "PYTHONPATH", "VIRTUAL_ENV", "CONDA_PREFIX",
                                 "HOME", "LD_LIBRARY_PATH"})
    result += fmt::format("{}={}\n", name, environmentValue(name));
  return result;
}

std::optional<NvrtcLibrary> NvrtcLibrary::alreadyLoaded() {
  if (!environmentValue("TOKAMAK_NVRTC").empty()) return std::nullopt;
  for (const char* const name : kNames) {
    void* const handle = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    if (handle == nullptr) continue;
    if (const std::optional<NvrtcLibrary> library = functionsOf(handle, name)) return library;
  }
  return std::nullopt;
}

NvrtcLibrary NvrtcLibrary::open(const std::string& file) {
  std::string reason;
  const std::optional<NvrtcLibrary> library = tryToLoad(file, reason);
  TK_REQUIRE(library, Unsupported, "NVRTC: '{}' cannot be used: {}", file, reason);
  return *library;
}

NvrtcLibrary NvrtcLibrary::search() {
  if (const std::optional<NvrtcLibrary> loaded = alreadyLoaded()) return *loaded;
  std::string tried;
  std::string reason;
  for (const std::string& candidate : nvrtcCandidates()) {
    if (const std::optional<NvrtcLibrary> library = tryToLoad(candidate, reason)) return *library;
    tried += fmt::format("\n    {}: {}", candidate, reason);
  }
  for (const std::string& pattern : folderPatterns()) tried += fmt::format("\n    {}: looked into", pattern);
  TK_RAISE(Unsupported, "NVRTC: no library that compiles CUDA was found; TOKAMAK_NVRTC may name one. Tried:{}", tried);
}

}  // namespace tokamak
