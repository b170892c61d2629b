// Resharding paths: from one sharding of a tensor to another, in steps that are one communication or a slice each.
#pragma once

#include <vector>

#include "analysis/sharding.h"

namespace tokamak {

/// The shardings between, and at the end `to`; none where they are the same. A step changes one dimension of the mesh,
/// or the mesh:
///
/// - Dimensions change in the order of fewest bytes that a rank sends, where no axis has parts over two dimensions
///   between. A change of the parts of one axis goes by the whole axis.
/// - Between meshes a tensor of one dimension goes as it is (parts to the same parts, or to the whole; terms to the
///   whole), one of several dimensions as a whole. Where all ranks of the new mesh have the whole, the step takes the
///   parts of one dimension too, as does one that deals a whole tensor out over a mesh of one dimension.
///
/// Legal: `to` has no terms that `from` has not on the same mesh.
std::vector<Sharding> reshardingPath(const Sharding& from, const Sharding& to);

/// Whether a tensor of sharding `from` may be set to one of `to` at all: nothing makes terms of what is whole.
bool canReshard(const Sharding& from, const Sharding& to);

}  // namespace tokamak
