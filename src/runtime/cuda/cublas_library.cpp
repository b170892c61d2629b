#include "runtime/cuda/cublas_library.h"

#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>

#include <dlfcn.h>
#include <fmt/format.h>

#include "toolchain/library_search.h"

namespace tokamak {

namespace {

// Takes all functions; false when one is missing.
bool takeCublasFunctions(void* handle, CublasLibrary& library) {
  bool has_all = true;
  const auto get = [&]<class Function>(const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(handle, name));
    has_all = has_all && function != nullptr;
  };
  get("cublasLtGetVersion", library.version);
  get("cublasLtGetStatusName", library.status_name);
  get("cublasLtCreate", library.create);
  get("cublasLtDestroy", library.destroy);
  get("cublasLtMatmulDescCreate", library.product_create);
  get("cublasLtMatmulDescDestroy", library.product_destroy);
  get("cublasLtMatmulDescSetAttribute", library.product_set);
  get("cublasLtMatrixLayoutCreate", library.layout_create);
  get("cublasLtMatrixLayoutDestroy", library.layout_destroy);
  get("cublasLtMatrixLayoutSetAttribute", library.layout_set);
  get("cublasLtMatmulPreferenceCreate", library.preference_create);
  get("cublasLtMatmulPreferenceDestroy", library.preference_destroy);
  get("cublasLtMatmulPreferenceSetAttribute", library.preference_set);
  get("cublasLtMatmulAlgoGetHeuristic", library.choose);
  get("cublasLtMatmulAlgoCheck", library.examine);
  get("cublasLtMatmul", library.multiply);
  return has_all;
}

// What is found goes to `found`.
LibrarySearch searchForCublas(CublasLibrary& found) {
  return {{.title = "cuBLASLt",
           .purpose = "multiplies matrices on CUDA devices",
           .variable = "TOKAMAK_CUBLASLT",
           .sonames = {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"},
           .pattern = "libcublasLt.so.1[0-9]",
           .packages = {"cublas", "cu1[0-9]"}},
          "it lacks functions of cuBLASLt 12 or later",
          [&found](void* handle, const std::string& name) {
            if (!takeCublasFunctions(handle, found)) return false;
            found.path = fileOfFunction(reinterpret_cast<void*>(found.create), name);
            return true;
          }};
}

}  // namespace

std::vector<std::string> cublasCandidates() {
  CublasLibrary found;
  return searchForCublas(found).candidates();
}

const CublasLibrary& CublasLibrary::load(const std::string& named) {
  static std::mutex mutex;
  // Never destroyed: threads may use it while the process exits.
  static auto& loaded = *new std::map<std::string, std::unique_ptr<CublasLibrary>>();
  const std::lock_guard lock(mutex);
  const char* const given = std::getenv("TOKAMAK_CUBLASLT");
  std::unique_ptr<CublasLibrary>& library = loaded[named.empty() && given != nullptr ? given : named];
  if (library != nullptr) return *library;
  CublasLibrary found;
  const LibrarySearch search = searchForCublas(found);
  if (named.empty())
    search.search();
  else
    search.open(named);
  library = std::make_unique<CublasLibrary>(std::move(found));
  return *library;
}

std::string CublasLibrary::describe(cublas::Status status) const {
  const char* const name = status_name(status);
  return fmt::format("{} ({})", name == nullptr ? "error" : name, status);
}

}  // namespace tokamak
