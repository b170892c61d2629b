#include "tokamak/c_objects.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>

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
    CodeRow{ErrorCode::Cancelled, TOKAMAK_ERROR_CANCELLED},
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

// The bytes of the UTF-8 character that the text begins with; 0 where there is none (RFC 3629).
size_t lengthOfCharacter(std::string_view text) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<uint8_t>(text[i]) : 0; };
  const int first = byte(0);
  if (first < 0x80) return 1;
  if (first < 0xc2 || first > 0xf4) return 0;
  const int low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  const int high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  if (byte(1) < low || byte(1) > high) return 0;
  const size_t length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  for (size_t i = 2; i < length; ++i) {
    if (byte(i) < 0x80 || byte(i) > 0xbf) return 0;
  }
  return length;
}

// The text with \xff and the like for bytes that are no UTF-8.
std::string validText(std::string_view text) {
  std::string valid;
  while (!text.empty()) {
    const size_t length = lengthOfCharacter(text);
    if (length == 0)
      valid += fmt::format("\\x{:02x}", static_cast<uint8_t>(text[0]));
    else
      valid += text.substr(0, length);
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return valid;
}

}  // namespace

tokamak_error* outOfMemory() noexcept { return &no_memory; }

tokamak_error* errorOf(const std::exception& error) noexcept {
  try {
    const auto* const own = dynamic_cast<const Error*>(&error);
    if (own == nullptr) return new tokamak_error{TOKAMAK_ERROR_INTERNAL, validText(error.what()), {}};
    return new tokamak_error{numberOf(own->code()), validText(own->what()), own->place()};
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
