// Online softmax: the maximum of a row and the sum of exponentials of differences to it, in one reading of the row.
//
// A row is split into chunks, which are in registers. Each chunk has a maximum m_c and a sum p_c of exp(x - m_c).
// The row's maximum M is that of all m_c; its sum is that of all p_c exp(m_c - M). Ordinary ops say so, and replace the
// two reductions.
#pragma once

#include <set>
#include <vector>

#include "heuristics/reduction_structure.h"

namespace tokamak {

/// maximum = max(values) along one axis, the row, and each sum = sum(exp(values - maximum)) along it.
struct SoftmaxReductions {
  TensorView* maximum = nullptr;
  std::vector<TensorView*> sums;
  TensorView* values = nullptr;  ///< what both read, through casts to wider types
  int64_t axis = 0;              ///< the row's axis among those of the values
  int64_t length = 0;
};

/// The softmax reductions of a kernel that have a constant length.
std::vector<SoftmaxReductions> findSoftmaxReductions(const ReductionStructure& structure);

/// A chunk has `vectors` vectors of `vector` elements for each of `threads` threads. The vectors of one thread lie
/// `threads` vectors apart.
struct ChunkSize {
  int64_t vectors = 1;
  int64_t threads = 1;
  int64_t vector = 1;

  int64_t elements() const { return vectors * threads * vector; }
};

/// The number of chunks of a row.
int64_t chunksOf(int64_t length, const ChunkSize& size);

/// A tensor that makeOnlineSoftmax made or changed, and the role of its loops.
struct ChunkTensor {
  enum class Part : uint8_t {
    Elements,    ///< axes [chunk, vectors, thread, vector]; computed in the loop over chunks
    Sum,         ///< the same axes; complete once for all chunks
    Persistent,  ///< axes [chunk, thread]
    Row,         ///< axes [chunk, thread], reduced
  };
  TensorView* tensor = nullptr;
  Part part = Part::Elements;
  int64_t axis = 0;  ///< the first of those axes among the logical ones
  AxisNumbers rows;  ///< logical axes
};

/// Replaces the maximum and its sums, which stay the same tensors but for their reduced axes. Elements beyond the end
/// of a row count as -inf. Gives the tensors that need a schedule: those of the chunks and the reductions over chunks.
std::vector<ChunkTensor> makeOnlineSoftmax(const ReductionStructure& structure, const SoftmaxReductions& maximum,
                                           const ChunkSize& size);

/// Computes sums of exp(x - maximum) by exp_term, as within chunks, unless the exponentials are persistent. (exp_term
/// may be less exact, as each such sum has a term that is exactly 1.)
void useExpTerms(const ReductionStructure& structure, const std::set<const TensorView*>& persistent);

}  // namespace tokamak
