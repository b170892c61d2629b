#include "heuristics/shared_memory_persistent.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "heuristics/online_softmax_parameters.h"
#include "heuristics/persistent_buffers.h"

namespace tokamak {

namespace {

constexpr int64_t kKiB = 1024;
constexpr int64_t kOthers = 8 * kKiB;  // what is combined
// What a block has of a row that is taken by as many threads as there can be.
constexpr int64_t kAlone = 128 * kKiB;

// Of the inputs that are persistent, in bytes for each element of a row.
struct BytesPerElement {
  int64_t of_rows = 0;
  int64_t of_outer_reductions = 0;  // once for all rows
};

BytesPerElement bytesPerElement(const ReductionStructure& structure) {
  BytesPerElement bytes;
  for (const PersistentBuffer& value :
       findPersistentBuffers(structure, {.has_inputs_apart = true, .has_outer_apart = true})) {
    if (value.inner.empty()) continue;
    (value.rows.empty() ? bytes.of_outer_reductions : bytes.of_rows) += sizeOf(value.tensor->dtype());
  }
  return bytes;
}

// So many elements of a row has a block.
int64_t elementsOfRow(const ReductionSizes& facts, const CudaScheduleParameters& parameters) {
  const int64_t at_once = parameters.vector * parameters.threads * parameters.cluster;
  return (facts.inner + at_once - 1) / at_once * parameters.vector * parameters.threads;
}

// Results of rows that are outputs. The iterations of one that chunks give are a loop of its own.
bool hasResults(const ReductionStructure& structure) {
  return std::ranges::any_of(structure.stored(), [&](const TensorView* tensor) {
    return isReduced(*tensor) && structure.fusion().isOutput(tensor) && !structure.isPartialOuterReduction(*tensor);
  });
}

// The first of these numbers of vectors by whose chunks little is wasted at a row's end, or the one by which least is.
int64_t chunkOf(const ReductionSizes& facts, const CudaScheduleParameters& parameters, std::array<int64_t, 4> vectors) {
  int64_t best = 0;
  int64_t least = INT64_MAX;
  for (const int64_t each : vectors) {
    const ChunkSize size = {each, parameters.threads * parameters.cluster, parameters.vector};
    const int64_t wasted = chunksOf(facts.inner, size) * size.elements() - facts.inner;
    if (wasted >= least) continue;
    least = wasted;
    best = each;
    if (wasted <= facts.inner / 32) break;
  }
  return best;
}

// As legaliseStages(), where the inputs are known.
void limitStages(const ReductionStructure& structure, const ReductionSizes& facts, const KernelTarget& target,
                 const BytesPerElement& bytes, CudaScheduleParameters& parameters) {
  const int64_t wanted = std::exchange(parameters.stages, 0);
  const bool persistent_outer = std::exchange(parameters.persistent_outer, false);
  if (!facts.is_whole || parameters.threads == 1 || wanted == 0) return;
  constexpr int64_t kMostStages = 8;
  const bool is_grid_persistent = parameters.persistent_grid > 0 || !structure.partialOuterReductions().empty();
  if (is_grid_persistent && parameters.chunk > 0 && hasResults(structure)) return;
  const int64_t elements = elementsOfRow(facts, parameters);
  const int64_t of_stage = bytes.of_rows * elements * parameters.rows_per_block * parameters.rows_together;
  if (of_stage == 0) return;
  const int64_t room = target.shared_bytes_per_block - kOthers;
  parameters.stages = std::min({wanted, room / of_stage, is_grid_persistent ? kMostStages : 1});
  const int64_t left = room - parameters.stages * of_stage;
  parameters.persistent_outer = persistent_outer && is_grid_persistent && parameters.stages > 0 &&
                                bytes.of_outer_reductions > 0 && bytes.of_outer_reductions * elements <= left;
}

}  // namespace

void legaliseStages(const ReductionStructure& structure, const ReductionSizes& facts, const KernelTarget& target,
                    CudaScheduleParameters& parameters) {
  limitStages(structure, facts, target, parameters.stages > 0 ? bytesPerElement(structure) : BytesPerElement(),
              parameters);
}

bool chooseSharedMemoryPersistent(const ReductionStructure& structure, const ReductionSizes& facts,
                                  const KernelTarget& target, bool may_chunk, CudaScheduleParameters& parameters) {
  const BytesPerElement per_element = bytesPerElement(structure);
  const int64_t bytes = per_element.of_rows * facts.inner;
  if (bytes == 0) return false;
  CudaScheduleParameters staged = parameters;
  staged.stages = 1;
  // Several small blocks run on a multiprocessor, so that some read while others compute. A row of which it has room
  // for one is better taken by as many threads as there can be, with a persistent grid.
  constexpr int64_t kOfTwo = 112 * kKiB;
  constexpr int64_t kOfThree = 72 * kKiB;
  constexpr int64_t kOfFour = 56 * kKiB;
  if (may_chunk && bytes <= kOfTwo) {
    staged.threads = 512;
    staged.chunk = chunkOf(facts, staged, {2, 3, 4, 1});
  } else if (may_chunk && bytes <= kAlone) {
    staged.threads = target.threads_per_block;
    staged.chunk = chunkOf(facts, staged, {4, 3, 5, 2});
    const bool may_be_persistent =
        facts.rows > target.multiprocessors && canUsePersistentGrid(structure) && !hasResults(structure);
    if (may_be_persistent) staged.persistent_grid = target.multiprocessors;
  } else if (bytes <= kAlone) {
    // Few different ones: rows of ever new lengths are to share their kernels.
    const auto vectors = static_cast<uint64_t>((facts.inner + facts.vector - 1) / facts.vector);
    const auto most = static_cast<int64_t>(std::bit_ceil(std::max<uint64_t>(vectors, kWarp)));
    staged.threads = std::min(bytes <= kOfThree ? 512 : target.threads_per_block, most);
    staged.unroll = 1;
  } else {
    const int64_t most = may_chunk ? kOfThree : kOfFour;
    staged.cluster = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>((bytes + most - 1) / most)));
    if (staged.cluster > (target.has_clusters ? kMostClusterBlocks : 1)) return false;
    staged.threads = 256;
    staged.unroll = may_chunk ? 2 : 4;
    if (may_chunk) staged.chunk = chunkOf(facts, staged, {4, 3, 5, 2});
  }
  staged.chunk = legalOnlineSoftmaxChunk(structure, staged);
  limitStages(structure, facts, target, per_element, staged);
  if ((staged.chunk > 0) != may_chunk || staged.stages == 0) return false;
  parameters = staged;
  return true;
}

bool preferSharedMemoryPersistent(const ReductionStructure& structure, const ReductionSizes& facts,
                                  const KernelTarget& target, CudaScheduleParameters& parameters) {
  // Longer ones leave so few registers that one block of them runs on a multiprocessor, whose threads all read, and
  // then all compute.
  constexpr int64_t kInRegisters = 36 * kKiB;
  const std::vector<PersistentBuffer> persistent =
      findPersistentBuffers(structure, {.bytes = kMostPersistent, .has_inputs_apart = true, .has_outer_apart = true});
  const TensorView* input = nullptr;
  for (const PersistentBuffer& value : persistent) {
    if (value.rows.empty() || value.inner.empty()) continue;
    // What is computed for an element would be computed again each time.
    if (input != nullptr || !structure.fusion().isInput(value.tensor)) return false;
    input = value.tensor;
  }
  if (input == nullptr) return false;
  const int64_t bytes = sizeOf(input->dtype()) * facts.inner;
  if (bytes <= kInRegisters || bytes > kAlone) return false;
  CudaScheduleParameters staged = parameters;
  staged.persistent_batches = 0;
  if (!chooseSharedMemoryPersistent(structure, facts, target, false, staged)) return false;
  parameters = staged;
  return true;
}

void chooseInnerOuterPersistent(const ReductionStructure& structure, const ReductionSizes& facts,
                                const KernelTarget& target, CudaScheduleParameters& parameters) {
  // Of few columns warps take rows side by side. Where two blocks run at once that together have more columns than a
  // long row, registers for one sum are left.
  constexpr int64_t kFewOuterElements = 768;
  constexpr int64_t kHalfOfLong = 4096;
  constexpr int64_t kLong = 8192;
  if (!facts.is_constant || facts.inner < kFewOuterElements) return;
  if (structure.partialOuterReductions().size() == 1 && facts.inner > kHalfOfLong && facts.inner < kLong) return;
  CudaScheduleParameters staged = parameters;
  staged.rows_per_block = 1;
  staged.stages = 2;
  staged.persistent_outer = true;
  const BytesPerElement bytes = bytesPerElement(structure);
  limitStages(structure, facts, target, bytes, staged);
  if (staged.stages < 2) return;
  // All blocks are to run at once.
  const int64_t of_block =
      elementsOfRow(facts, staged) * (staged.stages * bytes.of_rows + bytes.of_outer_reductions) + kOthers;
  const int64_t blocks =
      structure.partialOuterReductions().begin()->second.count->constantInt().value_or(target.multiprocessors);
  if (blocks / target.multiprocessors * of_block <= target.shared_bytes_per_block) parameters = staged;
}

}  // namespace tokamak
