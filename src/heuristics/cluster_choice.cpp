#include "heuristics/cluster_choice.h"

#include <algorithm>

#include "heuristics/cuda_rows.h"
#include "heuristics/kept_values.h"

namespace tokamak {

namespace {

// What threads take at a time has to be a multiple of all periods or of none: indices along inner axes are taken apart else, so that neighbours are not seen to be
// neighbours in memory.
bool fitsPeriods(const RowInRegisters& row, int64_t elements) {
  const auto divides = [&](int64_t period) { return elements % period == 0; };
  return std::ranges::all_of(row.periods, divides) || std::ranges::none_of(row.periods, divides);
}

// Batches that come out even, if there are any: beside sums of columns few, else as many as a thread can keep, so that more than one block may fit a
// multiprocessor.
std::optional<CudaScheduleParameters> dealtOut(const RowInRegisters& row, const KernelTarget& target,
                                               CudaScheduleParameters parameters) {
  const int64_t part = parameters.cluster * parameters.vector;
  const int64_t vectors = (row.length + part - 1) / part;
  const int64_t most = kMostKept / parameters.vector;
  std::optional<CudaScheduleParameters> uneven;
  for (int64_t i = 0; i < most; ++i) {
    const int64_t batches = row.sum_bytes > 0 ? 2 + i : most - i;
    parameters.batches = batches;
    parameters.threads = ((vectors + batches - 1) / batches + kWarp - 1) / kWarp * kWarp;
    if (parameters.threads > target.threads_per_block || !haveRoom(row, target, parameters)) continue;
    if (!fitsPeriods(row, parameters.threads * parameters.vector)) continue;
    if (parameters.batches * parameters.threads == vectors) return parameters;
    if (!uneven) uneven = parameters;
  }
  return uneven;
}

}  // namespace

RowInRegisters rowInRegisters(const KernelRows& rows, int64_t length) {
  RowInRegisters row{.length = length};
  for (const KeptValue& value : findKeptValues(rows, INT64_MAX, KeptBy::Cluster)) {
    if (rows.fusion().isInput(value.tensor)) row.bytes += sizeOf(value.tensor->dtype());
  }
  for (const auto& [sum, part] : rows.columnParts()) row.sum_bytes += sizeOf(sum->dtype());
  for (const TensorView* tensor : rows.stored()) {
    const AxisNumbers rest = rowLoopsOf(rows, *tensor).rest;
    if (rest.size() < 2 || !row.periods.empty()) continue;
    for (auto inner = rest.begin() + 1; inner != rest.end(); ++inner)
      row.periods.push_back(productOf(*tensor, {inner, rest.end()}, {}).value_or(1));
  }
  return row;
}

bool mayTakeTurns(const KernelRows& rows) {
  return rows.columnParts().empty() && !rows.isSingleBlock() &&
         std::ranges::all_of(rows.stored(), [&](const TensorView* tensor) {
           const bool is_read = !isReduced(*tensor) && !tensor->uses().empty();
           return rows.rowsOf(*tensor).size() <= 1 && !is_read;
         });
}

// Of one thread, in registers.
static int64_t keptBy(const RowInRegisters& row, const CudaScheduleParameters& parameters) {
  const int64_t bytes = row.bytes * parameters.rows_together + row.sum_bytes;
  return parameters.batches * parameters.vector * bytes / 4;
}

bool haveRoom(const RowInRegisters& row, const KernelTarget& target, const CudaScheduleParameters& parameters) {
  constexpr int64_t kOthers = 36;
  const int64_t registers = keptBy(row, parameters) + kOthers;
  return parameters.threads * parameters.rows_per_block * registers <= target.registers_per_multiprocessor;
}

// Blocks of a cluster are on multiprocessors that are near to each other, of which about one in eleven is left over (an H200 of 132 runs 30 clusters of 4 at
// once, one block on each, and 15 of 8). If registers turn out not to have room for as many blocks on each, there are more clusters than run at once, which costs
// little.
static int64_t clustersAtOnce(const RowInRegisters& row, const KernelTarget& target,
                              const CudaScheduleParameters& parameters) {
  constexpr int64_t kLeastOthers = 32;
  const int64_t blocks =
      target.registers_per_multiprocessor / (parameters.threads * (keptBy(row, parameters) + kLeastOthers));
  return std::max<int64_t>(1, target.multiprocessors * 10 / 11 / parameters.cluster) * std::max<int64_t>(1, blocks);
}

bool chooseCluster(const KernelRows& rows, const RowInRegisters& row, const KernelTarget& target,
                   CudaScheduleParameters& parameters) {
  if (!target.has_clusters || row.bytes == 0) return false;
  parameters.rows_per_block = 1;
  for (int64_t blocks = 2; blocks <= kMostClusterBlocks; blocks *= 2) {
    parameters.cluster = blocks;
    const auto found = dealtOut(row, target, parameters);
    if (!found) continue;
    parameters = *found;
    // A cluster that begins waits until all its blocks have room; one that goes on has loads under way while it writes the row before.
    if (mayTakeTurns(rows)) parameters.row_blocks = clustersAtOnce(row, target, parameters);
    // Two rows wait for one exchange.
    CudaScheduleParameters two = parameters;
    two.rows_together = 2;
    if (row.sum_bytes > 0 && haveRoom(row, target, two)) parameters = two;
    return true;
  }
  return false;
}

}  // namespace tokamak
