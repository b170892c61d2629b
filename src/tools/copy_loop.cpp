#include "tools/copy_loop.h"

#include <algorithm>

#include "runtime/cpu/cpu_device.h"

namespace tokamak::tools {

namespace {

constexpr std::string_view kSource = R"(
void copy_words(unsigned long long* restrict to, const unsigned long long* restrict from, long long begin, long long end) {
  for (long long i = begin; i < end; ++i) to[i] = from[i];
}
)";

}  // namespace

CopyLoop::CopyLoop(int64_t bytes)
    : words_(std::max<int64_t>(1, bytes / 2 / 8)),
      from_(static_cast<size_t>(words_), 0x3f803f803f803f80),
      to_(static_cast<size_t>(words_), 1),
      pool_(usableProcessors()) {
  KernelCompiler compiler;
  code_ = compiler.compile(std::string(kSource));
  entry_ = reinterpret_cast<Entry>(code_->symbol("copy_words"));
}

void CopyLoop::run() {
  constexpr int64_t kPartsPerThread = 8;
  const int64_t parts = std::min(words_, pool_.threads() * kPartsPerThread);
  pool_.parallelFor(parts, [&](int64_t part) {
    entry_(to_.data(), from_.data(), words_ * part / parts, words_ * (part + 1) / parts);
  });
}

}  // namespace tokamak::tools
