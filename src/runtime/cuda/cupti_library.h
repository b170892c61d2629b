// CuptiLibrary: NVIDIA's CUPTI, loaded when a timeline begins; own declarations of the functions that are used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "runtime/cuda/driver_types.h"

namespace tokamak {

namespace cupti {

using Status = int;  // CUptiResult

inline constexpr Status kSuccess = 0;
/// CUPTI_ACTIVITY_FLAG_FLUSH_FORCED
inline constexpr uint32_t kFlushForced = 1;
/// CUpti_BuffersCallbackRequestFunc, CUpti_BuffersCallbackCompleteFunc
using BufferRequested = void (*)(uint8_t** buffer, size_t* bytes, size_t* most_records);
using BufferCompleted = void (*)(driver::Context, uint32_t stream, uint8_t* buffer, size_t bytes, size_t valid_bytes);

}  // namespace cupti

struct CuptiLibrary {
  cupti::Status (*version)(uint32_t* version) = nullptr;
  cupti::Status (*status_name)(cupti::Status status, const char** text) = nullptr;
  cupti::Status (*timestamp)(uint64_t* nanoseconds) = nullptr;
  cupti::Status (*register_callbacks)(cupti::BufferRequested, cupti::BufferCompleted) = nullptr;
  cupti::Status (*enable)(int activity_kind) = nullptr;
  cupti::Status (*disable)(int activity_kind) = nullptr;
  cupti::Status (*flush)(uint32_t flags) = nullptr;
  cupti::Status (*next_record)(uint8_t* buffer, size_t valid_bytes, void** record) = nullptr;
  cupti::Status (*push_label)(int label_kind, uint64_t label) = nullptr;
  cupti::Status (*pop_label)(int label_kind, uint64_t* label) = nullptr;

  std::string path;  ///< the file that was loaded

  /// The library in the file that $TOKAMAK_CUPTI names; if that is not set, what is loaded already, the loader's usual
  /// names, the folders of a CUDA toolkit, those of Python packages: the first whose version is cuptiHeaderVersion().
  /// Loaded once and kept for ever.
  /// Errors: Unsupported, with everything that was tried.
  static const CuptiLibrary& load();

  /// "CUPTI_ERROR_NOT_INITIALIZED (15)".
  std::string describe(cupti::Status status) const;
};

}  // namespace tokamak
