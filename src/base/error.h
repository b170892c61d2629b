// Errors, and scoped context notes.
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "base/export.h"

namespace tokamak {

/// Stable classes of failures. The names appear in messages and in tests; the command line maps them to exit codes.
enum class ErrorCode : uint8_t {
  Usage,        ///< the command line or an option is wrong
  Parse,        ///< a text cannot be read; the message starts with file:line:column
  Definition,   ///< a fusion is built wrongly: dtype, rank, shape, axis
  Schedule,     ///< a schedule command is illegal where it stands
  HostProgram,  ///< a host program is malformed: alias cycle, undefined value, read after free
  Race,         ///< a host program is not race-free
  Bind,         ///< inputs or outputs given to a run do not fit the program
  OutOfMemory,  ///< an allocation cannot be served
  Io,           ///< a file cannot be read or written
  Device,       ///< a device reports a fault
  Unsupported,  ///< legal, but not available here
  Compile,      ///< a compiler failed on generated source, or gave what cannot be loaded
  Internal,     ///< a broken invariant of ours
  Cancelled,    ///< who waited gave up, or the process exits
};

/// The stable lower-case name of `code`, e.g. "definition".
TOKAMAK_EXPORT std::string_view errorCodeName(ErrorCode code);

/// A place in a text that somebody gave; from 1, columns count characters. No line: none.
struct TextPlace {
  int64_t line = 0;
  int64_t column = 0;
};

/// The one exception type. `what()` is the sentence followed by the notes, innermost first.
/// Thread safety: a value: each thread has copies of its own.
class TOKAMAK_EXPORT Error : public std::exception {
 public:
  Error(ErrorCode code, std::string message);

  const char* what() const noexcept override { return text_.c_str(); }
  ErrorCode code() const { return code_; }
  /// The sentence without its notes.
  const std::string& message() const { return message_; }
  /// Of what the error is about in the text that was read, as the message tells it, too.
  TextPlace place() const { return place_; }

 private:
  ErrorCode code_;
  std::string message_;
  std::string text_;
  TextPlace place_;
};

/// While it lives, errors raised on this thread carry its text: "while applying schedule step 3: split(T1, axis=2,
/// factor=4)". The text is made only when an error is raised, so a note costs two pointers.
/// Thread safety: belongs to the thread that made it, whose errors alone it is added to.
class TOKAMAK_EXPORT ErrorNote {
 public:
  using Writer = std::string (*)(const void*);
  using Placer = TextPlace (*)(const void*);
  /// `describe()` returns the note's text; it must outlive the note. Where it has a function place(), that is the place
  /// of errors that have none.
  template <class Describe>
  explicit ErrorNote(const Describe& describe)
      : ErrorNote(
            &describe, [](const void* d) -> std::string { return (*static_cast<const Describe*>(d))(); },
            placerOf<Describe>()) {}
  template <class Describe>
  explicit ErrorNote(const Describe&& describe) = delete;  // which would be gone at once
  ErrorNote(const ErrorNote&) = delete;
  ErrorNote& operator=(const ErrorNote&) = delete;
  ~ErrorNote();

 private:
  friend class Error;
  ErrorNote(const void* describe, Writer writer, Placer placer);
  template <class Describe>
  static constexpr Placer placerOf() {
    if constexpr (requires(const Describe& d) { d.place(); })
      return [](const void* d) { return static_cast<const Describe*>(d)->place(); };
    else
      return nullptr;
  }

  const void* describe_;
  Writer writer_;
  Placer placer_;
  ErrorNote* outer_;
};

}  // namespace tokamak
