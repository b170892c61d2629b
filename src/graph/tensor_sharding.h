// TensorSharding: what the ranks of a mesh have of a tensor, as data: read from the marks of one, given to others.
#pragma once

#include <optional>
#include <vector>

#include "ir/clone.h"

namespace tokamak {

/// A split on the way from a logical axis to the part that is marked.
struct PartStep {
  Scalar* factor = nullptr;
  bool is_inner_factor = true;
};

/// The marked parts of an axis of a tensor's visible shape.
struct MarkedParts {
  int64_t axis = 0;
  std::vector<PartStep> steps;  ///< of the axis, of its outer part, ...; none: the axis itself is marked
  Scalar* chunk = nullptr;      ///< indices of one part, simplified

  /// Of the same axis, with the same indices.
  bool operator==(const MarkedParts& other) const { return axis == other.axis && chunk == other.chunk; }
};

enum class SpreadForm : uint8_t {
  Whole,  ///< all ranks have the same
  Parts,  ///< each has a part of an axis
  Terms,  ///< each has a term: the tensor is partial
};

/// What ranks that differ in one dimension of a mesh have.
struct Spread {
  SpreadForm form = SpreadForm::Whole;
  MarkedParts parts = {};                        ///< of Parts
  ReductionKind reduction = ReductionKind::Sum;  ///< of Terms
  bool isWhole() const { return form == SpreadForm::Whole; }
  bool operator==(const Spread& other) const;
};

/// A mesh, and what its ranks have along each of its dimensions. A dimension of one rank is Whole, whatever is marked.
struct TensorSharding {
  DeviceMesh mesh;
  std::vector<Spread> dimensions;

  static TensorSharding wholeOn(const DeviceMesh& mesh) {
    return {.mesh = mesh, .dimensions = std::vector<Spread>(mesh.shape.size())};
  }
  bool isWhole() const;
  bool operator==(const TensorSharding&) const = default;
};

/// The sharding that the tensor's marks say. It makes scalars in the tensor's fusion. Errors: those of shardsOf().
TensorSharding tensorShardingOf(const TensorView& tensor);

/// The parts that Stream marks stand for: indices and chunks of axes of the visible shape. Others are left out.
std::vector<MarkedParts> streamsOf(const TensorView& tensor);

/// Gives a tensor whose loops are its logical axes a mesh and marks; `streams`: on axes of which ranks have no parts.
/// Scalars come from the cloner's source. Legal: axes that splits of that kind make parts of, one for each device.
void setSharding(TensorView& tensor, const TensorSharding& sharding, const std::vector<MarkedParts>& streams,
                 Cloner& cloner);

}  // namespace tokamak
