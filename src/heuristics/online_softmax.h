// Online softmax: the maximum of a row and the sum of exponentials of differences to it, in one reading of the row.
//
// A row is cut into chunks that a thread holds in registers. A chunk has a maximum and a sum of exponentials of
// differences to that maximum; the row's maximum is that of the chunks' maxima, its sum that of the chunks' sums, each
// times the exponential of its maximum's difference to the row's. All of that are ordinary ops, which take the place of
// the two reductions.
#pragma once

#include <set>
#include <vector>

#include "heuristics/reduction_structure.h"

namespace tokamak {

/// maximum = max(values), and for each of the sums: sum = sum(exp(values - maximum)); over one axis, which is the row.
struct SoftmaxReductions {
  TensorView* maximum = nullptr;
  std::vector<TensorView*> sums;
  TensorView* values = nullptr;  ///< both read these, through casts to wider types
  int64_t axis = 0;              ///< of the values
  int64_t length = 0;
};

/// Those of a kernel whose length is a constant.
std::vector<SoftmaxReductions> findSoftmaxReductions(const ReductionStructure& structure);

/// A chunk is `vectors` times `vector` neighbours; the vectors of a thread are those of all threads apart.
struct ChunkSize {
  int64_t vectors = 1;
  int64_t threads = 1;
  int64_t vector = 1;

  int64_t elements() const { return vectors * threads * vector; }
};

/// How many chunks each thread has.
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

/// Replaces the maximum and its sums; they are the same tensors as before, but for their reduced axes. Elements behind
/// the end of a row count as -inf. Gives the tensors that need a schedule: the chunks' ones and the reductions over
/// chunks.
std::vector<ChunkTensor> makeOnlineSoftmax(const ReductionStructure& structure, const SoftmaxReductions& maximum,
                                           const ChunkSize& size);

/// Sums of exponentials of differences to a maximum are made of exp_term, as those of chunks, where the exponentials
/// are not among what is persistent: they are computed for the sum alone. They have a term of 1, too.
void shortenTerms(const ReductionStructure& structure, const std::set<const TensorView*>& persistent);

}  // namespace tokamak
