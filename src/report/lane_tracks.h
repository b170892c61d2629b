// Lane tracks: parallel lines in a channel, so that no two of them lie on one another.
#pragma once

#include <cstddef>
#include <vector>

namespace tokamak {

/// From where to where a line takes its channel.
struct TrackSpan {
  double begin = 0;
  double end = 0;
};

/// A track for each line, such that no two in one track overlap: the smallest that is free, lines being taken in the
/// order of their beginnings (interval colouring; as few tracks as lines that overlap in one point).
std::vector<size_t> assignTracks(const std::vector<TrackSpan>& lines);

/// How many tracks were assigned.
size_t trackCount(const std::vector<size_t>& tracks);

}  // namespace tokamak
