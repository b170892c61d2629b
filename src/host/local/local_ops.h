// Local ops: math ops of a program over ranks that each rank computes from its own parts, and their copies for a rank.
#pragma once

#include <memory>

#include "host/local/local_tensors.h"

namespace tokamak {

/// An axis that the rank has a part of in the result of a Set, but all of in its operand.
struct SlicedAxis {
  int64_t axis = 0;  ///< of the visible shape of both
  ScalarRange range;
};

/// Whether an op may read whole axes where its result has parts.
enum class WholeReads : uint8_t {
  Refused,
  SlicedBySet,  ///< a Set may: what it reads is a slice
};

/// Checks that a rank can compute its part of the result from its parts of the operands: along each axis it has the
/// same part of both; axes whose parts it adds up (or multiplies, or takes the extreme of) may be parts, and then the
/// result is marked partial over that dimension of its mesh, and over no other. Partial operands are read by nothing
/// but copies that are as partial. Tells `tensors` which reduction axes of the result are parts.
/// Gives the axes that a Set slices. Errors: HostProgram, naming the op, the operand and the axis.
std::vector<SlicedAxis> requireLocal(const Expr& op, LocalTensors& tensors, WholeReads reads);

/// The fields of a statement that has no body, with the copies of its tensors and scalars. What attributes say of the
/// extents of parts is said of these, and positions begin where the rank's part does.
Fields localFields(const Expr& statement, LocalTensors& tensors);

}  // namespace tokamak
