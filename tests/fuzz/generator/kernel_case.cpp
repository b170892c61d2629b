#include "generator/kernel_case.h"

#include <algorithm>
#include <random>

#include <fmt/format.h>

#include "base/require.h"
#include "generator/case_launch.h"
#include "generator/draw_data.h"
#include "heuristics/cpu_schedule.h"
#include "heuristics/cuda_schedule.h"
#include "heuristics/schedule_kernel.h"
#include "ir/clone.h"
#include "kernel/index_type.h"

namespace tokamak::generator {

std::optional<Problem> compareOutputs(const std::vector<StoredData>& outputs, const oracle::Reference& reference) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const oracle::Comparison comparison = reference.compare(i, outputs[i].view());
    if (!comparison.isOk()) return Problem{"values", fmt::format("output {}: {}", i, oracle::toString(comparison))};
  }
  return std::nullopt;
}

std::optional<Problem> findKernelProblem(const Fusion& fusion, const std::vector<InputData>& inputs,
                                         const KernelWay& way, KernelTally& tally) {
  ++tally.programs;
  const bool gives_input = std::ranges::any_of(fusion.outputs(), [&](TensorView* t) { return fusion.isInput(t); });
  if (gives_input || !canSchedule(*cloneFusion(fusion), way.target)) {
    ++tally.refused;
    return std::nullopt;
  }
  tally.ops += static_cast<int64_t>(fusion.exprs().size());
  const oracle::Reference reference(fusion, toOracle(inputs));
  const char* stage = "prepare";
  std::string text;
  try {
    const CaseLaunch launch(fusion, inputs, way.recipe);
    const PreparedKernel& prepared = launch.prepared();
    text = kir::printKernel(prepared.kernel);
    stage = "interpret";
    InterpreterOptions options = {.seed = 1};
    if (way.index_bits < 64 && kir::areIndicesWithin(prepared.kernel, prepared.bindings, way.index_bits)) {
      options.index_bits = way.index_bits;
      ++tally.narrow;
    }
    const CaseLaunch::Result result = launch.run(prepared.kernel, prepared.bindings, options);
    if (!result.findings.empty()) return Problem{"finding", result.findings[0] + "\n" + text};
    auto problem = compareOutputs(result.outputs, reference);
    if (problem) problem->text += "\n" + text;
    for (const oracle::OracleTensor& output : reference.exact().outputs) tally.elements += output.count();
    stage = "source";
    if (!problem && way.on_kernel) way.on_kernel(prepared);
    if (!problem && way.run_elsewhere) {
      stage = "run";
      CaseLaunch::Result elsewhere = launch.poisoned();
      way.run_elsewhere(prepared, launch.buffersOf(elsewhere));
      problem = compareOutputs(elsewhere.outputs, reference);
      if (problem) problem->kind = "values elsewhere";
      if (problem) problem->text += "\n" + text;
    }
    return problem;
  } catch (const Error& error) {
    return Problem{fmt::format("{}: error {}", stage, errorCodeName(error.code())),
                   std::string(error.what()) + "\n" + text};
  }
}

KernelWay cpuWay(uint64_t seed) {
  return {.target = cpuTarget(),
          .recipe = {.extents = seed % 2 == 0 ? ExtentPolicy::Open : ExtentPolicy::Constants,
                     .schedule = [](Fusion& fusion, const ScalarBindings&) {
                       scheduleForCpu(fusion, {.block_elements = 16,
                                               .block_columns = 4,
                                               .accumulators = 4,
                                               .last_accumulators = 2,
                                               .block_terms = 3,
                                               .split_elements = 5,
                                               .max_grid_split = 4,
                                               .tile_bytes = 16});
                     }}};
}

KernelWay wideCpuWay(uint64_t seed) {
  const int64_t lanes = seed % 3 == 0 ? 16 : 64;
  return {.target = cpuTarget(),
          .recipe = {.extents = seed % 2 == 0 ? ExtentPolicy::Open : ExtentPolicy::Constants,
                     .schedule = [lanes](Fusion& fusion, const ScalarBindings&) {
                       scheduleForCpu(fusion, {.block_elements = 300,
                                               .block_columns = 40,
                                               .accumulators = lanes,
                                               .last_accumulators = 16,
                                               .block_terms = 3,
                                               .split_elements = 50,
                                               .max_grid_split = 3,
                                               .tile_bytes = 48});
                     }}};
}

// Threads across columns. Clusters, iterations, rows together, inputs in shared memory; half of the seeds have none.
static void shareRows(CudaScheduleParameters& parameters, uint64_t seed) {
  std::mt19937_64 random(~seed);
  const auto pick = [&](std::initializer_list<int64_t> values) { return values.begin()[random() % values.size()]; };
  parameters.block_y = pick({1, 2, 4, 16});
  if (random() % 2 == 0) return;
  parameters.cluster = pick({1, 2, 3, 4, 8});
  parameters.persistent_grid = pick({0, 0, 2, 3});
  parameters.rows_together = pick({1, 1, 2, 3});
  parameters.stages = pick({0, 1, 2, 3, 4});
  parameters.inner_grid_split = pick({1, 1, 2, 3});
}

KernelWay smallCudaWay(uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto pick = [&](std::initializer_list<int64_t> values) { return values.begin()[random() % values.size()]; };
  CudaScheduleParameters parameters;
  parameters.vector = pick({1, 2, 4, 8, 16});
  parameters.threads = pick({2, 4, 8, 16});
  parameters.persistent_batches = pick({0, 0, 1, 2});
  parameters.rows_per_block = pick({1, 2});
  parameters.unroll = pick({1, 2});
  parameters.outer_grid_split = pick({1, 2, 3});
  parameters.chunk = pick({0, 1, 2, 3});
  parameters.block_x = pick({32, 16, 8, 1});
  shareRows(parameters, seed);
  return {.target = hopperTarget(),
          .recipe = {.target = TargetKind::Cuda,
                     .extents = random() % 4 == 0 ? ExtentPolicy::Divisors : ExtentPolicy::Open,
                     .schedule = [parameters](Fusion& fusion, const ScalarBindings& sizes) {
                       ReductionStructure structure(fusion);
                       const auto problem = structure.find(WholeReductions::SingleBlock);
                       TK_CHECK(!problem, "{}", *problem);
                       scheduleForCuda(structure, legalParameters(structure, parameters, sizes));
                     }}};
}

KernelWay cudaWay(uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto pick = [&](std::initializer_list<int64_t> values) { return values.begin()[random() % values.size()]; };
  CudaScheduleParameters parameters;
  parameters.vector = pick({1, 2, 4, 8, 16});
  parameters.threads = pick({1, 4, 16, 32, 64, 96});
  parameters.persistent_batches = pick({0, 0, 1, 2});
  parameters.rows_per_block = pick({1, 2, 4, 8});
  parameters.unroll = pick({1, 2});
  parameters.outer_grid_split = pick({1, 2, 3});
  parameters.chunk = pick({0, 1, 2, 3});
  parameters.block_x = pick({32, 16, 8, 1});
  shareRows(parameters, seed);
  // Results of all iterations that are read elsewhere are arrays, which in CUDA have constant lengths.
  parameters.persistent_grid = 0;
  const bool is_chosen = random() % 2 == 0;
  return {.target = hopperTarget(),
          .recipe = {.target = TargetKind::Cuda,
                     .extents = random() % 4 != 0 ? ExtentPolicy::Divisors : ExtentPolicy::Open,
                     .schedule = [parameters, is_chosen](Fusion& fusion, const ScalarBindings& sizes) {
                       ReductionStructure structure(fusion);
                       const auto problem = structure.find(WholeReductions::SingleBlock);
                       TK_CHECK(!problem, "{}", *problem);
                       scheduleForCuda(structure, is_chosen ? chooseCudaParameters(structure, hopperTarget(), sizes)
                                                            : legalParameters(structure, parameters, sizes));
                     }}};
}

}  // namespace tokamak::generator
