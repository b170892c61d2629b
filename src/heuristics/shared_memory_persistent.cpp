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
constexpr int64_t kOthers = 8 * kKiB;  // for block and grid reductions
// The most bytes of a row that one block of the largest size holds.
constexpr int64_t kAlone = 128 * kKiB;

// Bytes of persistent inputs per element of a row.
struct BytesPerElement {
  int64_t of_rows = 0;
  int64_t of_outer_reductions = 0;  // once for all rows
};

BytesPerElement bytesPerElement(const ReductionStructure& structure) {
  BytesPerElement bytes;
  for (const PersistentBuffer& value :
       findPersistentBuffers(structure, {.has_room_for_inputs = true, .has_room_for_outer_inputs = true})) {
    if (value.inner.empty()) continue;
    (value.rows.empty() ? bytes.of_outer_reductions : bytes.of_rows) += sizeOf(value.tensor->dtype());
  }
  return bytes;
}

// The elements of a row that a block holds.
int64_t elementsOfRow(const ReductionSizes& facts, const CudaScheduleParameters& parameters) {
  const int64_t at_once = parameters.vector * parameters.threads * parameters.cluster;
  return (facts.inner + at_once - 1) / at_once * parameters.vector * parameters.threads;
}

// Whether a reduction is an output. (With an online softmax its iterations would be a loop of their own.)
bool hasResults(const ReductionStructure& structure) {
  return std::ranges::any_of(structure.stored(), [&](const TensorView* tensor) {
    return isReduced(*tensor) && structure.fusion().isOutput(tensor) && !structure.isPartialOuterReduction(*tensor);
  });
}

// The first of these chunk sizes that wastes little at a row's end, or the one that wastes least.
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

// legaliseStages() for known bytes of inputs.
void limitStages(const ReductionStructure& structure, const ReductionSizes& facts, const KernelTarget& target,
                 const BytesPerElement& bytes, CudaScheduleParameters& parameters) {
  const int64_t wanted = std::exchange(parameters.stages, 0);
  const bool persistent_outer = std::exchange(parameters.persistent_outer, false);
  if (!facts.needs_whole_rows || parameters.threads == 1 || wanted == 0) return;
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
  // If a multiprocessor has room for several rows, small blocks let some load while others compute. If it has room for
  // one, the largest block and a persistent grid are better.
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
    // Few different numbers of threads: kernels are shared by rows of different lengths.
    const auto vectors = static_cast<uint64_t>((facts.inner + facts.max_vector - 1) / facts.max_vector);
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
  // Longer rows take so many registers that one block runs on a multiprocessor: it loads or computes, never both.
  constexpr int64_t kInRegisters = 36 * kKiB;
  const std::vector<PersistentBuffer> persistent = findPersistentBuffers(
      structure, {.bytes = kMostPersistent, .has_room_for_inputs = true, .has_room_for_outer_inputs = true});
  const TensorView* input = nullptr;
  for (const PersistentBuffer& value : persistent) {
    if (value.rows.empty() || value.inner.empty()) continue;
    // A computed value would be recomputed by each reader.
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
  // Rows of few columns are better computed by warps side by side. With one sum and rows of medium length, two blocks
  // at once fit in registers.
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
  // All blocks have to run at once.
  const int64_t of_block =
      elementsOfRow(facts, staged) * (staged.stages * bytes.of_rows + bytes.of_outer_reductions) + kOthers;
  const int64_t blocks =
      structure.partialOuterReductions().begin()->second.count->constantInt().value_or(target.multiprocessors);
  if (blocks / target.multiprocessors * of_block <= target.shared_bytes_per_block) parameters = staged;
}

}  // namespace tokamak
