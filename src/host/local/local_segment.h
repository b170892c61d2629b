// Local segments: a segment of a program over ranks with the sizes that one rank has.
#pragma once

#include "host/local/local_tensors.h"
#include "ir/ops/host/post_on_stream.h"

namespace tokamak {

/// The post of the rank's segment, in the copy of the program that `program` makes. Axes of which it has a part have
/// symbols of their own, which sizes of inputs bind, or constants. Whole extents that it computes with, and parts that
/// no input has, become scalar inputs.
/// Errors: HostProgram for ops that are not local, and for tensors of the segment that have other shards than what the
/// segment is posted with.
PostOnStream localPost(const PostOnStream& post, LocalTensors& program);

}  // namespace tokamak
