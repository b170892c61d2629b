#include "dist/nccl/nccl_library.h"

#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>

#include <dlfcn.h>
#include <fmt/format.h>

#include "base/require.h"
#include "toolchain/library_search.h"

namespace tokamak {

namespace {

template <class Function>
bool take(void* handle, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(handle, name));
  return function != nullptr;
}

bool takeFunctions(void* handle, NcclLibrary& l) {
  return take(handle, "ncclGetVersion", l.get_version) && take(handle, "ncclGetUniqueId", l.get_unique_id) &&
         take(handle, "ncclCommInitRankConfig", l.init_rank) && take(handle, "ncclCommAbort", l.abort_communicator) &&
         take(handle, "ncclCommGetAsyncError", l.async_error) && take(handle, "ncclGetErrorString", l.error_string) &&
         take(handle, "ncclGetLastError", l.last_error) && take(handle, "ncclGroupStart", l.group_start) &&
         take(handle, "ncclGroupEnd", l.group_end) && take(handle, "ncclAllReduce", l.all_reduce) &&
         take(handle, "ncclReduce", l.reduce) && take(handle, "ncclReduceScatter", l.reduce_scatter) &&
         take(handle, "ncclAllGather", l.all_gather) && take(handle, "ncclBroadcast", l.broadcast) &&
         take(handle, "ncclSend", l.send) && take(handle, "ncclRecv", l.receive);
}

// What is found goes to `found`.
LibrarySearch searchForNccl(NcclLibrary& found) {
  return {{.title = "NCCL",
           .purpose = "communicates between GPUs",
           .variable = "TOKAMAK_NCCL",
           .sonames = {"libnccl.so.2", "libnccl.so"},
           .pattern = "libnccl.so.2",
           .packages = {"nccl"}},
          "it lacks functions of NCCL 2.18 or later",
          [&found](void* handle, const std::string& name) {
            if (!takeFunctions(handle, found)) return false;
            found.path = fileOfFunction(reinterpret_cast<void*>(found.init_rank), name);
            return true;
          }};
}

void requireVersion(NcclLibrary& library) {
  const nccl::Result result = library.get_version(&library.version);
  TK_REQUIRE(result == nccl::kSuccess && library.version >= nccl::kOldestVersion, Unsupported,
             "'{}' is NCCL {}.{}; {}.{} or later is needed", library.path, library.version / 10000,
             library.version % 10000 / 100, nccl::kOldestVersion / 10000, nccl::kOldestVersion % 10000 / 100);
}

}  // namespace

std::vector<std::string> ncclCandidates() {
  NcclLibrary found;
  return searchForNccl(found).candidates();
}

const NcclLibrary& NcclLibrary::load(const std::string& named) {
  static std::mutex mutex;
  // Never destroyed: threads may use it while the process exits.
  static auto& loaded = *new std::map<std::string, std::unique_ptr<NcclLibrary>>();
  const std::lock_guard lock(mutex);
  const char* const given = std::getenv("TOKAMAK_NCCL");
  std::unique_ptr<NcclLibrary>& library = loaded[named.empty() && given != nullptr ? given : named];
  if (library == nullptr) {
    NcclLibrary found;
    const LibrarySearch search = searchForNccl(found);
    if (named.empty())
      search.search();
    else
      search.open(named);
    requireVersion(found);
    library = std::make_unique<NcclLibrary>(std::move(found));
  }
  return *library;
}

std::string NcclLibrary::describe(nccl::Result result) const {
  const char* const text = error_string(result);
  return fmt::format("{} ({})", text == nullptr ? "error" : text, result);
}

}  // namespace tokamak
