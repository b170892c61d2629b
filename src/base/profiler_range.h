// Profiler ranges: stretches of the host's time with a name, which profilers such as Nsight Systems show beside what
// the GPU does (NVTX).
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace tokamak {

/// What ranges are called. The profiler is told the text once, when the name is made; a range then copies and formats
/// nothing. Made once per place in the code, program or work, not per call: profilers keep every text. Small, to be
/// copied; equal for all threads.
class RangeName {
 public:
  /// No name: its ranges are not told.
  constexpr RangeName() = default;
  explicit RangeName(std::string_view text);

  /// Whether it is one of a text, even if nobody listens.
  constexpr bool isMade() const { return handle_ != nullptr; }

 private:
  friend class Range;
  // Stands for all texts where no profiler listens.
  static constexpr char kUnheard = 0;
  constexpr bool isHeard() const { return handle_ != nullptr && handle_ != &kUnheard; }

  const void* handle_ = nullptr;
};

/// Open while it lives, on the thread that made it; ranges of a thread nest. Without a profiler that is a comparison.
class Range {
 public:
  explicit Range(RangeName name) : is_open_(name.isHeard()) {
    if (is_open_) [[unlikely]]
      open(name.handle_);
  }
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;
  ~Range() {
    if (is_open_) [[unlikely]]
      close();
  }

 private:
  static void open(const void* name);
  static void close();

  const bool is_open_;
};

/// One name per text, in their order. (Names have no destructors: threads may still use static ones when the process
/// ends.)
template <size_t count>
std::array<RangeName, count> rangeNames(const std::string_view (&texts)[count]) {
  std::array<RangeName, count> names;
  for (size_t i = 0; i < count; ++i) names[i] = RangeName(texts[i]);
  return names;
}

/// Who is told of ranges, in words: "NVTX 3, domain tokamak", or why nobody is.
std::string_view describeRanges();

}  // namespace tokamak
