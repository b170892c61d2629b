#include "tools/copy_loop.h"

#include <algorithm>

#include "base/usable_processors.h"

namespace tokamak::tools {

namespace {

constexpr const char* kEntryName = "copy_words";
constexpr std::string_view kSource = R"(
void copy_words(unsigned long long* restrict to, const unsigned long long* restrict from, long long begin, long long end) {
  for (long long i = begin; i < end; ++i) to[i] = from[i];
}
)";

}  // namespace

CopyLoop::CopyLoop(Device& device, const std::shared_ptr<Stream>& stream, int64_t bytes)
    : words_(std::max<int64_t>(1, bytes / 2 / 8)),
      from_(Tensor::empty(device, stream, DataType::I64, {&words_, 1}, MemoryKind::Device)),
      to_(Tensor::empty(device, stream, DataType::I64, {&words_, 1}, MemoryKind::Device)),
      pool_(usableProcessors()) {
  for (const Tensor* tensor : {&from_, &to_}) device.fill(*stream, tensor->data(), 1, words_ * sizeOf(DataType::I64));
  device.synchronize(*stream);
  KernelCompiler compiler;
  code_ = compiler.compile(std::string(kSource), kEntryName);
  entry_ = reinterpret_cast<Entry>(code_->symbol(kEntryName));
}

void CopyLoop::run() {
  constexpr int64_t kPartsPerThread = 8;
  const int64_t parts = std::min(words_, pool_.threads() * kPartsPerThread);
  pool_.parallelFor(parts, [&](int64_t part) {
    entry_(to_.data(), from_.data(), words_ * part / parts, words_ * (part + 1) / parts);
  });
}

}  // namespace tokamak::tools
