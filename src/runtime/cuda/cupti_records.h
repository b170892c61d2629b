// CuptiRecord: what a record of CUPTI says of the GPU's work. How records lie in memory is said by cupti.h alone, which
// need not be there when this is built; it changes with CUPTI's version, so that a library is only used that has the
// header's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "device/work.h"

namespace tokamak {

struct CuptiRecord {
  enum class Kind : uint8_t {
    Other,
    Work,   ///< a kernel, a copy or a fill ran from `begin` to `end`, for the driver's or the runtime's call `call`
    Label,  ///< the call `call` was made under `label`
  };
  Kind kind = Kind::Other;
  uint32_t call = 0;  ///< CUPTI's correlation id
  uint64_t label = 0;
  uint64_t begin = 0;  ///< nanoseconds of CUPTI's clock; 0: not known
  uint64_t end = 0;
};

/// CUPTI_API_VERSION of the header; 0: there was none.
uint32_t cuptiHeaderVersion();

/// The activity kinds that give these records (CUpti_ActivityKind). Empty without a header.
std::span<const int> cuptiKinds();
/// What a record of such a kind takes.
size_t cuptiRecordBytes(int kind);
/// Which kind of label is ours (CUpti_ExternalCorrelationKind).
int cuptiLabelKind();

/// `record`: as the library wrote it, of the header's version.
CuptiRecord readCuptiRecord(const void* record);

}  // namespace tokamak
