#include "dist/mpi/mpi_library.h"

#include <cstdlib>
#include <mutex>
#include <vector>

#include <dlfcn.h>
#include <fmt/format.h>

#include "base/require.h"
#include "base/text.h"
#include "dist/mpi/mpi_world.h"
#include "toolchain/library_search.h"

namespace tokamak {

namespace {

constexpr const char* kVariable = "TOKAMAK_MPI";
constexpr const char* kName = "libtokamak_mpi.so";

std::vector<std::string> candidates() {
  const std::string here = fileOfFunction(reinterpret_cast<void*>(&mpiFunctionsOf), "");
  const size_t slash = here.rfind('/');
  std::vector<std::string> files;
  if (slash != std::string::npos)
    for (const char* folder : {"", "../lib/", "lib/"}) files.push_back(here.substr(0, slash + 1) + folder + kName);
  files.emplace_back(kName);
  return files;
}

// Never closed: MPI has threads and exit handlers of its own. Its modules look for its names among all.
void* open(const std::string& file, std::string& reason) {
  void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library != nullptr) return library;
  const char* const fault = dlerror();
  reason = fault == nullptr ? file + ": it cannot be loaded" : fault;
  return nullptr;
}

const MpiFunctions& functionsOf(void* library, const std::string& file) {
  using Entry = const MpiFunctions* (*)();
  const auto entry = reinterpret_cast<Entry>(dlsym(library, MpiFunctions::kEntry));
  TK_REQUIRE(entry != nullptr, Unsupported, "'{}' is no {}: it has no {}", file, kName, MpiFunctions::kEntry);
  const MpiFunctions& functions = *entry();
  TK_REQUIRE(functions.version == MpiFunctions::kVersion, Unsupported,
             "'{}' has version {} of its interface, and {} is needed; build both from one source", file,
             functions.version, MpiFunctions::kVersion);
  return functions;
}

}  // namespace

const MpiFunctions& mpiFunctionsOf(const std::string& file) {
  std::string reason;
  void* const library = open(file, reason);
  TK_REQUIRE(library != nullptr, Unsupported, "MPI: {}: {}", kVariable, reason);
  return functionsOf(library, file);
}

const MpiFunctions& mpiFunctions() {
  const char* const named = std::getenv(kVariable);
  if (named != nullptr && *named != '\0') return mpiFunctionsOf(named);
  std::vector<std::string> reasons;
  for (const std::string& file : candidates()) {
    if (void* const library = open(file, reasons.emplace_back()); library != nullptr) return functionsOf(library, file);
  }
  TK_RAISE(
      Unsupported,
      "MPI: there is no {}, which is built where MPI's header is (libopenmpi-dev); {} may name its file. Searched: {}",
      kName, kVariable, joined(reasons, "; "));
}

// Ended by the process's exit, not with its last user: MPI starts once.
std::shared_ptr<MpiWorld> mpiWorld() {
  static std::mutex mutex;
  static auto& world = *new std::shared_ptr<MpiWorld>();
  const std::lock_guard lock(mutex);
  if (world == nullptr) {
    world = std::make_shared<MpiWorld>(mpiFunctions());
    std::atexit([] { world->finish(); });
  }
  return world;
}

}  // namespace tokamak
