#include "generator/compiled_batch.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>

#include <fmt/format.h>

#include "kernel/bind_kernel.h"

namespace tokamak::generator {

namespace {

using Entry = void (*)(void* const* buffers, const int64_t* symbols, int64_t first_block, int64_t last_block);

std::vector<StoredData> runCase(const CompiledCase& each, Entry entry) {
  const PreparedKernel& prepared = each.launch->prepared();
  CaseLaunch::Result result = each.launch->poisoned();
  std::vector<void*> addresses;
  for (const KernelBuffer& buffer : each.launch->buffersOf(result)) addresses.push_back(buffer.address);
  std::vector<int64_t> symbols;
  for (const Scalar* symbol : prepared.kernel.symbols) {
    const ScalarValue& value = prepared.bindings.at(symbol);
    symbols.push_back(isFloatingType(symbol->dtype()) ? std::bit_cast<int64_t>(asDouble(value)) : asInt(value));
  }
  const KernelWorkspace workspace = kir::workspaceOf(prepared.kernel, prepared.bindings);
  std::vector<uint64_t> memory(static_cast<size_t>(workspace.bytes) / sizeof(uint64_t) + 1);
  addresses.push_back(memory.data());
  std::vector<int64_t> blocks(static_cast<size_t>(kir::launchSize(prepared.kernel, prepared.bindings).blocks));
  std::iota(blocks.begin(), blocks.end(), 0);
  // Any of those that share a reduction may be the last.
  std::mt19937_64 random(each.seed);
  if (workspace.bytes > 0) std::ranges::shuffle(blocks, random);
  for (const int64_t block : blocks) entry(addresses.data(), symbols.data(), block, block + 1);
  return std::move(result.outputs);
}

template <class T>
T readAs(const std::byte* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

bool isNan(const std::byte* element, DataType dtype) {
  switch (dtype) {
    case DataType::F64: return std::isnan(readAs<double>(element));
    case DataType::F32: return std::isnan(readAs<float>(element));
    case DataType::F16: return (readAs<uint16_t>(element) & 0x7fff) > 0x7c00;
    case DataType::BF16: return (readAs<uint16_t>(element) & 0x7fff) > 0x7f80;
    default: return false;
  }
}

}  // namespace

void CompiledBatch::add(CompiledCase each, int lanes) {
  kir::Kernel kernel = each.launch->prepared().kernel;
  kernel.name = "kernel";
  const std::string text = kernelSource(kernel, Dialect::C, DataType::I64, lanes).text;
  const auto [place, is_new] = numbers_.emplace(text, sources_.size());
  if (is_new) {
    kernel.name = fmt::format("kernel_{}", sources_.size());
    sources_.push_back(kernelSource(kernel, Dialect::C, DataType::I64, lanes));
  }
  each.source = sources_[place->second];
  cases_.push_back(std::move(each));
}

std::string CompiledBatch::text() const { return compilationUnit(sources_, Dialect::C); }

std::vector<std::vector<StoredData>> CompiledBatch::run(KernelCompiler& compiler) const {
  const auto object = compiler.compile(text());
  std::vector<std::vector<StoredData>> results;
  for (const CompiledCase& each : cases_)
    results.push_back(runCase(each, reinterpret_cast<Entry>(object->symbol(each.source.entry.c_str()))));
  return results;
}

std::string differenceInBits(const std::vector<StoredData>& a, const std::vector<StoredData>& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    const auto width = static_cast<size_t>(sizeOf(a[i].dtype));
    for (size_t at = 0; at + width <= a[i].bytes.size(); at += width) {
      const std::byte* x = a[i].bytes.data() + at;
      const std::byte* y = b[i].bytes.data() + at;
      if (std::memcmp(x, y, width) == 0 || (isNan(x, a[i].dtype) && isNan(y, a[i].dtype))) continue;
      return fmt::format("output {}, byte {} ({})", i, at, dataTypeName(a[i].dtype));
    }
  }
  return "";
}

}  // namespace tokamak::generator
