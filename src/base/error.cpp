#include "base/require.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>

#include <fmt/format.h>

namespace tokamak {

namespace {

thread_local ErrorNote* innermost_note = nullptr;

// Appends "file:line" to the file named by TOKAMAK_ERROR_SITES, so that a test run can tell which messages it reached.
void reportSite(SourceSite site) {
  const char* path = std::getenv("TOKAMAK_ERROR_SITES");
  if (path == nullptr) return;
  if (std::FILE* file = std::fopen(path, "ae")) {
    const std::string line = fmt::format("{}:{}\n", site.file, site.line);
    std::fwrite(line.data(), 1, line.size(), file);
    std::fclose(file);
  }
}

}  // namespace

std::string_view errorCodeName(ErrorCode code) {
  switch (code) {
    case ErrorCode::Usage: return "usage";
    case ErrorCode::Parse: return "parse";
    case ErrorCode::Definition: return "definition";
    case ErrorCode::Schedule: return "schedule";
    case ErrorCode::HostProgram: return "host program";
    case ErrorCode::Race: return "race";
    case ErrorCode::Bind: return "bind";
    case ErrorCode::OutOfMemory: return "out of memory";
    case ErrorCode::Io: return "io";
    case ErrorCode::Device: return "device";
    case ErrorCode::Unsupported: return "unsupported";
    case ErrorCode::Compile: return "compile";
    case ErrorCode::Internal: return "internal";
    case ErrorCode::Cancelled: return "cancelled";
  }
  return "unknown";
}

ErrorNote::ErrorNote(const void* describe, Writer writer, Placer placer)
    : describe_(describe), writer_(writer), placer_(placer), outer_(innermost_note) {
  innermost_note = this;
}

ErrorNote::~ErrorNote() { innermost_note = outer_; }

Error::Error(ErrorCode code, std::string message) : code_(code), message_(std::move(message)) {
  // (what() ends at the first zero, which may be in a name that is quoted.)
  std::ranges::replace(message_, '\0', '?');
  text_ = message_;
  for (const ErrorNote* note = innermost_note; note != nullptr; note = note->outer_) {
    if (place_.line == 0 && note->placer_ != nullptr) place_ = note->placer_(note->describe_);
    const std::string text = note->writer_(note->describe_);
    if (!text.empty()) text_ += "\n  " + text;
  }
}

void raiseError(SourceSite site, ErrorCode code, fmt::string_view format, fmt::format_args args) {
  reportSite(site);
  std::string message = fmt::vformat(format, args);
  if (code == ErrorCode::Internal) {
    message = fmt::format("internal error at {}:{}: {}", site.file, site.line, message);
  }
  throw Error(code, std::move(message));
}

}  // namespace tokamak
