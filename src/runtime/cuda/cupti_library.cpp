#include "runtime/cuda/cupti_library.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include <dlfcn.h>
#include <fmt/format.h>

#include "base/require.h"
#include "runtime/cuda/cupti_records.h"
#include "toolchain/library_search.h"

namespace tokamak {

namespace {

// The library itself steps from record to record. It must go as far as the structures are long that are read here.
bool hasRecordsOf(const CuptiLibrary& library, int kind) {
  // The kind stands wherever the next record may begin.
  std::vector<uint64_t> words(512, uint64_t{1} << 32U | static_cast<uint32_t>(kind));
  auto* const buffer = reinterpret_cast<uint8_t*>(words.data());
  const size_t bytes = words.size() * sizeof(uint64_t);
  void* record = nullptr;
  const bool is_read = library.next_record(buffer, bytes, &record) == cupti::kSuccess && record == buffer &&
                       library.next_record(buffer, bytes, &record) == cupti::kSuccess;
  return is_read && record == buffer + cuptiRecordBytes(kind);
}

bool isOfHeader(const CuptiLibrary& library) {
  uint32_t version = 0;
  if (library.version(&version) != cupti::kSuccess || version != cuptiHeaderVersion()) return false;
  return std::ranges::all_of(cuptiKinds(), [&](int kind) { return hasRecordsOf(library, kind); });
}

// Takes all functions; false when one is missing or the records are not those of the header.
bool takeCuptiFunctions(void* handle, CuptiLibrary& library) {
  bool has_all = true;
  const auto get = [&]<class Function>(const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(handle, name));
    has_all = has_all && function != nullptr;
  };
  get("cuptiGetVersion", library.version);
  get("cuptiGetResultString", library.status_name);
  get("cuptiGetTimestamp", library.timestamp);
  get("cuptiActivityRegisterCallbacks", library.register_callbacks);
  get("cuptiActivityEnable", library.enable);
  get("cuptiActivityDisable", library.disable);
  get("cuptiActivityFlushAll", library.flush);
  get("cuptiActivityGetNextRecord", library.next_record);
  get("cuptiActivityPushExternalCorrelationId", library.push_label);
  get("cuptiActivityPopExternalCorrelationId", library.pop_label);
  return has_all && isOfHeader(library);
}

// The versions count on from 1, and since CUDA 13.0 are 10000 times CUDA's.
uint32_t majorOf(uint32_t version) { return version < 130000 ? 12 : version / 10000; }

// What is found goes to `found`.
LibrarySearch searchForCupti(CuptiLibrary& found) {
  const std::string soname = fmt::format("libcupti.so.{}", majorOf(cuptiHeaderVersion()));
  return {{.title = "CUPTI",
           .purpose = fmt::format("has version {} of CUPTI's interface", cuptiHeaderVersion()),
           .variable = "TOKAMAK_CUPTI",
           .sonames = {soname},
           .pattern = soname,
           .packages = {"cuda_cupti", "cu1[0-9]"},
           .toolkit_folders = {"extras/CUPTI/lib64"}},
          fmt::format("its version or its records are not those of the header that this was built with, {}",
                      cuptiHeaderVersion()),
          [&found](void* handle, const std::string& name) {
            if (!takeCuptiFunctions(handle, found)) return false;
            found.path = fileOfFunction(reinterpret_cast<void*>(found.version), name);
            return true;
          }};
}

}  // namespace

const CuptiLibrary& CuptiLibrary::load() {
  static std::mutex mutex;
  // Never destroyed: threads may use it while the process exits.
  static auto& loaded = *new std::map<std::string, std::unique_ptr<CuptiLibrary>>();
  TK_REQUIRE(cuptiHeaderVersion() != 0, Unsupported, "CUPTI: its header was not there when this was built");
  const std::lock_guard lock(mutex);
  const char* const given = std::getenv("TOKAMAK_CUPTI");
  std::unique_ptr<CuptiLibrary>& library = loaded[given == nullptr ? "" : given];
  if (library != nullptr) return *library;
  CuptiLibrary found;
  searchForCupti(found).search();
  library = std::make_unique<CuptiLibrary>(std::move(found));
  return *library;
}

std::string CuptiLibrary::describe(cupti::Status status) const {
  const char* text = nullptr;
  const bool is_known = status_name(status, &text) == cupti::kSuccess && text != nullptr;
  return fmt::format("{} ({})", is_known ? text : "error", status);
}

}  // namespace tokamak
