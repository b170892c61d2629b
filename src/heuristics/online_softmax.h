// Online softmax: the maximum of a row and the sum of exponentials of differences to it, in one reading of the row.
//
// A row is cut into chunks that a thread holds in registers. Each chunk has a maximum, and a sum of exponentials of
// differences to that maximum.
// The row's maximum is the maximum of these. The row's sum adds the chunks' sums, each times exp(chunk's maximum -
// row's maximum). All of these are ordinary ops, which replace the two reductions.
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

/// A chunk is `vectors` vectors for each of `threads` threads; a vector is `vector` neighbours. The vectors of one
/// thread lie `threads` vectors apart.
struct ChunkSize {
  int64_t vectors = 1;
  int64_t threads = 1;
  int64_t vector = 1;

  int64_t elements() const { return vectors * threads * vector; }
};

/// The number of chunks that a row is cut into.
int64_t chunksOf(int64_t length, const ChunkSize& size);

/// A tensor that chunking made or changed, and where its loops belong.
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

/// Sums of exponentials of differences to a maximum are computed by exp_term, as within chunks, where the exponentials
/// are not persistent. Such exponentials are computed for the sum alone. Each sum has one term that is exactly 1, too.
void shortenTerms(const ReductionStructure& structure, const std::set<const TensorView*>& persistent);

}  // namespace tokamak
