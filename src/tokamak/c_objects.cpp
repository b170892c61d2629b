#include "tokamak/c_objects.h"

#include <array>
#include <utility>

#include "tokamak/version.h"

namespace tokamak::c {

namespace {

struct CodeRow {
  ErrorCode code;
  tokamak_error_code number;
};

constexpr std::array kCodes = {
    CodeRow{ErrorCode::Usage, TOKAMAK_ERROR_USAGE},
    CodeRow{ErrorCode::Parse, TOKAMAK_ERROR_PARSE},
    CodeRow{ErrorCode::Definition, TOKAMAK_ERROR_DEFINITION},
    CodeRow{ErrorCode::Schedule, TOKAMAK_ERROR_SCHEDULE},
    CodeRow{ErrorCode::HostProgram, TOKAMAK_ERROR_HOST_PROGRAM},
    CodeRow{ErrorCode::Race, TOKAMAK_ERROR_RACE},
    CodeRow{ErrorCode::Bind, TOKAMAK_ERROR_BIND},
    CodeRow{ErrorCode::OutOfMemory, TOKAMAK_ERROR_OUT_OF_MEMORY},
    CodeRow{ErrorCode::Io, TOKAMAK_ERROR_IO},
    CodeRow{ErrorCode::Device, TOKAMAK_ERROR_DEVICE},
    CodeRow{ErrorCode::Unsupported, TOKAMAK_ERROR_UNSUPPORTED},
    CodeRow{ErrorCode::Compile, TOKAMAK_ERROR_COMPILE},
    CodeRow{ErrorCode::Internal, TOKAMAK_ERROR_INTERNAL},
};

constexpr std::array kTypes = {
    std::pair(DataType::F64, TOKAMAK_F64),   std::pair(DataType::F32, TOKAMAK_F32),
    std::pair(DataType::F16, TOKAMAK_F16),   std::pair(DataType::BF16, TOKAMAK_BF16),
    std::pair(DataType::I32, TOKAMAK_I32),   std::pair(DataType::I64, TOKAMAK_I64),
    std::pair(DataType::Bool, TOKAMAK_BOOL),
};
static_assert(kTypes.size() == kAllDataTypes.size());

// What is given where an error cannot be allocated.
tokamak_error no_memory = {TOKAMAK_ERROR_OUT_OF_MEMORY, {}, {}};
constexpr const char* kNoMemory = "there is no memory for more objects";

tokamak_error_code numberOf(ErrorCode code) {
  const auto* const row = std::ranges::find(kCodes, code, &CodeRow::code);
  return row == kCodes.end() ? TOKAMAK_ERROR_INTERNAL : row->number;
}

}  // namespace

tokamak_error* outOfMemory() noexcept { return &no_memory; }

tokamak_error* errorOf(const std::exception& error) noexcept {
  try {
    const auto* const own = dynamic_cast<const Error*>(&error);
    if (own == nullptr) return new tokamak_error{TOKAMAK_ERROR_INTERNAL, error.what(), {}};
    return new tokamak_error{numberOf(own->code()), own->what(), own->place()};
  } catch (const std::exception&) {
    return outOfMemory();
  }
}

DataType dataTypeOf(int64_t dtype) {
  const auto* const row = std::ranges::find(kTypes, dtype, [](const auto& it) { return int64_t{it.second}; });
  TK_REQUIRE(row != kTypes.end(), Usage, "dtype {} was given; legal are 1 to {}", dtype, kTypes.size());
  return row->first;
}

tokamak_dtype dtypeOf(DataType type) {
  return std::ranges::find(kTypes, type, [](const auto& it) { return it.first; })->second;
}

}  // namespace tokamak::c

namespace c = tokamak::c;
using tokamak::errorCodeName;
using tokamak::versionOfLibrary;

const char* tokamak_version(void) { return versionOfLibrary(); }

tokamak_error_code tokamak_error_get_code(const tokamak_error* error) { return error->code; }

const char* tokamak_error_code_name(tokamak_error_code code) {
  const auto* const row = std::ranges::find(c::kCodes, code, &c::CodeRow::number);
  return row == c::kCodes.end() ? "unknown" : errorCodeName(row->code).data();  // of literals, which end with a zero
}

const char* tokamak_error_message(const tokamak_error* error) {
  return error == &c::no_memory ? c::kNoMemory : error->message.c_str();
}

int64_t tokamak_error_line(const tokamak_error* error) { return error->place.line; }
int64_t tokamak_error_column(const tokamak_error* error) { return error->place.column; }

void tokamak_error_free(tokamak_error* error) {
  if (error != &c::no_memory) delete error;
}
