// Op-by-op evaluation on one thread of the CPU against memcpy of as many bytes, timed alternately in one run, in
// processor time so that other load counts little: per op on 64 MB of f32, bytes per second and the part of memcpy's
// speed ("of_copy").
#include <algorithm>
#include <cstring>
#include <ctime>
#include <functional>
#include <vector>

#include <benchmark/benchmark.h>

#include "define/functions.h"
#include "define/structured.h"
#include "device/work.h"
#include "ir/all_ops.h"
#include "runtime/cpu/element_loops.h"

namespace tokamak {
namespace {

constexpr int64_t kRows = 4096;
constexpr int64_t kColumns = 4096;  // 64 MB of f32

using Define = std::function<TensorView*(Fusion&)>;

TensorView* matrix(Fusion& fusion, DataType dtype = DataType::F32, int64_t columns = kColumns) {
  TensorView* tensor = fusion.tensor(
      dtype, {fusion.axis({.extent = fusion.constant(kRows)}), fusion.axis({.extent = fusion.constant(columns)})});
  fusion.addInput(tensor);
  return tensor;
}

struct Bound {
  std::shared_ptr<const CpuWork> work;
  std::vector<std::vector<char>> memory;
  std::vector<void*> addresses;
  int64_t bytes = 0;
};

Bound bind(Fusion& fusion, const TensorView& out) {
  const Expr& expr = *out.definition();
  std::vector<TensorView*> tensors = tensorsOf(expr.inputs());
  tensors.push_back(asTensor(expr.output(0)));
  std::vector<OperandDesc> descs;
  Bound bound;
  for (const TensorView* tensor : tensors) {
    OperandDesc desc{.dtype = tensor->dtype(), .sizes = {}, .strides = {}};
    for (const IterDomain* axis : shapeOf(*tensor)) desc.sizes.push_back(evaluateInt(*axis->visibleExtent(), {}));
    desc.strides.resize(desc.sizes.size());
    int64_t count = 1;
    for (size_t i = desc.sizes.size(); i-- > 0; count *= desc.sizes[i]) desc.strides[i] = count;
    // Small numbers in every type, and none of them 0 all over.
    bound.memory.emplace_back(static_cast<size_t>(count * sizeOf(desc.dtype)), char{0x3c});
    bound.addresses.push_back(bound.memory.back().data());
    bound.bytes += count * sizeOf(desc.dtype);
    descs.push_back(std::move(desc));
  }
  static_cast<void>(fusion);
  bound.work = prepareElementWork(expr, descs, {});
  return bound;
}

double seconds(const std::function<void()>& run) {
  const auto now = [] {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
  };
  const double begin = now();
  run();
  return now() - begin;
}

void againstCopy(benchmark::State& state, const Define& define) {
  Fusion fusion;
  const TensorView* out = define(fusion);
  Bound bound = bind(fusion, *out);
  BlockPool pool(1);
  const int64_t copied = bound.bytes / 2;
  std::vector<char> from(static_cast<size_t>(copied), char{1});
  std::vector<char> to(static_cast<size_t>(copied), char{2});
  std::vector<double> works;
  std::vector<double> copies;
  for (auto _ : state) {
    works.push_back(seconds([&] { bound.work->run(bound.addresses.data(), pool); }));
    copies.push_back(seconds([&] { std::memcpy(to.data(), from.data(), static_cast<size_t>(copied)); }));
    state.SetIterationTime(works.back());
  }
  std::ranges::sort(works);
  std::ranges::sort(copies);
  const double work = works[works.size() / 2];
  state.counters["GB/s"] = static_cast<double>(bound.bytes) / work * 1e-9;
  state.counters["of_copy"] = copies[copies.size() / 2] / work;
}

#define TK_AGAINST_COPY(name, ...)                                                           \
  BENCHMARK_CAPTURE(againstCopy, name, [](Fusion& f) -> TensorView* { return __VA_ARGS__; }) \
      ->UseManualTime()                                                                      \
      ->Iterations(15)

TK_AGAINST_COPY(set, set(matrix(f)));
TK_AGAINST_COPY(add, add(matrix(f), matrix(f)));
TK_AGAINST_COPY(exp, exp(matrix(f)));
TK_AGAINST_COPY(where, where(matrix(f, DataType::Bool), matrix(f), matrix(f)));
TK_AGAINST_COPY(sum_inner, sum(matrix(f), {1}));
TK_AGAINST_COPY(sum_outer, sum(matrix(f), {0}));
TK_AGAINST_COPY(sum_all, sum(matrix(f), {0, 1}));
TK_AGAINST_COPY(max_inner, max(matrix(f), {1}));
TK_AGAINST_COPY(max_outer, max(matrix(f), {0}));
TK_AGAINST_COPY(cast_f32_bf16, cast(matrix(f), DataType::BF16));
TK_AGAINST_COPY(cast_bf16_f32, cast(matrix(f, DataType::BF16), DataType::F32));
TK_AGAINST_COPY(cast_f32_f16, cast(matrix(f), DataType::F16));
TK_AGAINST_COPY(cast_f16_f32, cast(matrix(f, DataType::F16), DataType::F32));
TK_AGAINST_COPY(transpose, transpose(matrix(f)));
TK_AGAINST_COPY(transpose_bf16, transpose(matrix(f, DataType::BF16)));
TK_AGAINST_COPY(pad, pad(matrix(f), {1, 1, 3, 5}));
TK_AGAINST_COPY(slice, slice(matrix(f), {1, 3}, {kRows - 1, kColumns - 5}));
TK_AGAINST_COPY(cat_inner, cat({matrix(f), matrix(f, DataType::F32, 100)}, 1));
TK_AGAINST_COPY(reshape, reshape(matrix(f), {kRows * kColumns}));
TK_AGAINST_COPY(iota, iota(f, kRows* kColumns, 0, 1, DataType::F32));

}  // namespace
}  // namespace tokamak
