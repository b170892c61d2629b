#include "report/lane_tracks.h"

#include <algorithm>
#include <numeric>

namespace tokamak {

std::vector<size_t> assignTracks(const std::vector<TrackSpan>& lines) {
  std::vector<size_t> order(lines.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t line) { return lines[line].begin; });
  std::vector<double> ends;  // per track
  std::vector<size_t> tracks(lines.size(), 0);
  for (const size_t line : order) {
    const auto free = std::ranges::find_if(ends, [&](double end) { return end < lines[line].begin; });
    tracks[line] = static_cast<size_t>(free - ends.begin());
    if (free == ends.end())
      ends.push_back(lines[line].end);
    else
      *free = lines[line].end;
  }
  return tracks;
}

size_t trackCount(const std::vector<size_t>& tracks) {
  return tracks.empty() ? 0 : *std::ranges::max_element(tracks) + 1;
}

}  // namespace tokamak
