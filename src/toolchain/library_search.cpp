#include "toolchain/library_search.h"

#include <algorithm>
#include <cstdlib>

#include <dlfcn.h>
#include <fmt/format.h>
#include <glob.h>

#include "base/require.h"

namespace tokamak {

namespace {

std::string environmentValue(const std::string& name) {
  const char* const value = std::getenv(name.c_str());
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

}  // namespace

std::string fileOfFunction(void* function, const std::string& otherwise) {
  Dl_info info = {};
  return dladdr(function, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : otherwise;
}

std::string LibrarySearch::named() const { return environmentValue(names_.variable); }

// Folders that may hold the library; stars stand for versions.
std::vector<std::string> LibrarySearch::folderPatterns() const {
  std::vector<std::string> result;
  if (!named().empty()) return result;
  std::vector<std::string> toolkit_folders = {"lib64", "lib", "targets/*-linux/lib"};
  toolkit_folders.insert(toolkit_folders.end(), names_.toolkit_folders.begin(), names_.toolkit_folders.end());
  for (const std::string& toolkit :
       {environmentValue("CUDA_PATH"), environmentValue("CUDA_HOME"), std::string("/usr/local/cuda")})
    for (const std::string& folder : toolkit_folders)
      if (!toolkit.empty()) result.push_back(fmt::format("{}/{}", toolkit, folder));
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
    for (const std::string& package : names_.packages)
      result.push_back(fmt::format("{}/nvidia/{}/lib", folder, package));
  return result;
}

std::vector<std::string> LibrarySearch::candidates() const {
  if (const std::string file = named(); !file.empty()) return {file};
  std::vector<std::string> result = names_.sonames;
  for (const std::string& pattern : folderPatterns())
    for (std::string& file : matchesOf(fmt::format("{}/{}", pattern, names_.pattern)))
      result.push_back(std::move(file));
  return result;
}

std::string LibrarySearch::environment() const {
  std::string result;
  for (const std::string& name :
       {names_.variable, std::string("CUDA_PATH"), std::string("CUDA_HOME"), std::string("PYTHONPATH"),
        std::string("VIRTUAL_ENV"), std::string("CONDA_PREFIX"), std::string("HOME"), std::string("LD_LIBRARY_PATH")})
    result += fmt::format("{}={}\n", name, environmentValue(name));
  return result;
}

// Loads for ever: these libraries have threads and exit handlers of their own. On failure `reason` says why.
bool LibrarySearch::tryToLoad(const std::string& candidate, std::string& reason) const {
  void* const handle = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL);
  const char* const failure = handle == nullptr ? dlerror() : lacking_.c_str();
  reason = failure == nullptr ? "it cannot be loaded" : failure;
  return handle != nullptr && take_(handle, candidate);
}

bool LibrarySearch::takeLoaded() const {
  if (!named().empty()) return false;
  return std::ranges::any_of(names_.sonames, [&](const std::string& name) {
    void* const handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    return handle != nullptr && take_(handle, name);
  });
}

void LibrarySearch::open(const std::string& file) const {
  std::string reason;
  TK_REQUIRE(tryToLoad(file, reason), Unsupported, "{}: '{}' cannot be used: {}", names_.title, file, reason);
}

void LibrarySearch::search() const {
  if (takeLoaded()) return;
  std::string tried;
  std::string reason;
  for (const std::string& candidate : candidates()) {
    if (tryToLoad(candidate, reason)) return;
    tried += fmt::format("\n    {}: {}", candidate, reason);
  }
  for (const std::string& pattern : folderPatterns()) tried += fmt::format("\n    {}: looked into", pattern);
  TK_RAISE(Unsupported, "{}: no library that {} was found; {} may name one. Tried:{}", names_.title, names_.purpose,
           names_.variable, tried);
}

}  // namespace tokamak
