#include "host/check/access_overlap.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "base/require.h"

namespace tokamak {

namespace {

// Byte numbers stay below this, so that sums of two boxes' extents cannot overflow.
constexpr int64_t kByteLimit = int64_t{1} << 61;

using Dims = std::vector<Access::Dim>;

bool isEmptyAccess(const Access& access) {
  return access.element_bytes <= 0 ||
         std::any_of(access.dims.begin(), access.dims.end(), [](const Access::Dim& dim) { return dim.size <= 0; });
}

// Merges dims of one arithmetic sequence: multiples of s up to n, plus a dim with stride k * s, k <= n, are multiples
// of s. Strides are ascending before and after.
void mergeSequences(Dims& dims) {
  size_t kept = 0;
  for (const Access::Dim dim : dims) {
    const auto end = dims.begin() + static_cast<std::ptrdiff_t>(kept);
    const auto base = std::find_if(dims.begin(), end, [&](const Access::Dim& candidate) {
      return dim.stride % candidate.stride == 0 && dim.stride / candidate.stride <= candidate.size;
    });
    if (base == end) {
      dims[kept++] = dim;
    } else {
      base->size += (dim.size - 1) * (dim.stride / base->stride);
    }
  }
  dims.resize(kept);
}

void sortByStride(Dims& dims) {
  std::sort(dims.begin(), dims.end(), [](const Access::Dim& a, const Access::Dim& b) { return a.stride < b.stride; });
}

// Drops small dims that only lengthen a run of `run` contiguous bytes; returns the new run.
int64_t absorbIntoRun(Dims& dims, int64_t run) {
  size_t absorbed = 0;
  for (; absorbed < dims.size() && dims[absorbed].stride <= run; ++absorbed) {
    run += dims[absorbed].stride * (dims[absorbed].size - 1);
  }
  dims.erase(dims.begin(), dims.begin() + static_cast<std::ptrdiff_t>(absorbed));
  return run;
}

int64_t modulo(int64_t value, int64_t period) {
  const int64_t rest = value % period;
  return rest < 0 ? rest + period : rest;
}

// Sum over 0 <= i < n of floor((a * i + b) / m), modulo 2^64; a * n + b must fit. Euclid's algorithm on (a, m).
uint64_t floorSum(uint64_t n, uint64_t m, uint64_t a, uint64_t b) {
  uint64_t sum = 0;
  while (n > 0) {
    const uint64_t triangle = n % 2 == 0 ? n / 2 * (n - 1) : (n - 1) / 2 * n;
    sum += triangle * (a / m) + n * (b / m);
    a %= m;
    b %= m;
    const uint64_t top = a * n + b;
    if (top < m) break;
    n = top / m;
    b = top % m;
    std::swap(a, m);
  }
  return sum;
}

// Whether a sum of x_k * stride_k with 0 <= x_k < size_k falls into an interval. Strides are larger than the interval
// is wide.
class SumSearch {
 public:
  explicit SumSearch(Dims dims) : dims_(std::move(dims)), reach_(dims_.size() + 1, 0), divisor_(dims_.size() + 1, 0) {
    std::reverse(dims_.begin(), dims_.end());  // large strides first: they leave few choices
    for (size_t k = dims_.size(); k-- > 0;) {
      reach_[k] = reach_[k + 1] + (dims_[k].size - 1) * dims_[k].stride;
      divisor_[k] = std::gcd(divisor_[k + 1], dims_[k].stride);
    }
  }

  bool hits(int64_t low, int64_t high) { return hitsFrom(0, low, high); }

 private:
  bool hitsFrom(size_t k, int64_t low, int64_t high) {
    low = std::max<int64_t>(low, 0);
    high = std::min(high, reach_[k]);
    if (low > high) return false;
    if (low == 0 || high == reach_[k]) return true;
    if (high / divisor_[k] * divisor_[k] < low) return false;
    const size_t left = dims_.size() - k;
    if (left == 1) return true;  // the divisor is the stride, and high is within reach
    if (left == 2) return hitsWithTwo(k, low, high);
    if (dead_.contains({k, low, high})) return false;
    const auto [size, stride] = dims_[k];
    const int64_t short_of = low - reach_[k + 1];
    const int64_t first = short_of <= 0 ? 0 : (short_of + stride - 1) / stride;
    for (int64_t x = std::min(size - 1, high / stride); x >= first; --x) {
      if (hitsFrom(k + 1, low - x * stride, high - x * stride)) return true;
    }
    dead_.insert({k, low, high});
    return false;
  }

  // s x + t y in [low, high]: the largest y for an x misses by (high - s x) mod t, which must be less than the width.
  // Counts the x for which it is: a window of x where y is in range, then a difference of two floor sums.
  bool hitsWithTwo(size_t k, int64_t low, int64_t high) const {
    const auto [size, stride] = dims_[k];
    const auto [inner_size, inner_stride] = dims_[k + 1];
    const int64_t width = high - low + 1;
    const int64_t too_far = high - inner_size * inner_stride + 1;
    const int64_t first = too_far <= 0 ? 0 : (too_far + stride - 1) / stride;
    const int64_t last = std::min(size - 1, high / stride);
    if (first > last) return false;
    const auto count = static_cast<uint64_t>(last - first + 1);
    const auto t = static_cast<uint64_t>(inner_stride);
    const auto s = static_cast<uint64_t>(stride % inner_stride);
    const auto rest = static_cast<uint64_t>((high - last * stride) % inner_stride);
    const uint64_t all = floorSum(count, t, s, rest) + count;
    return all != floorSum(count, t, s, rest + t - static_cast<uint64_t>(width));
  }

  Dims dims_;
  std::vector<int64_t> reach_;    // largest sum of the dims from k on
  std::vector<int64_t> divisor_;  // greatest common divisor of their strides
  std::set<std::tuple<size_t, int64_t, int64_t>> dead_;
};

// Whether a sum over `dims` (positive strides, any order) falls into [low, high].
bool sumHits(Dims dims, int64_t low, int64_t high) {
  sortByStride(dims);
  const int64_t width = high - low + 1;
  const int64_t smeared = absorbIntoRun(dims, width);
  low -= smeared - width;
  mergeSequences(dims);
  return SumSearch(std::move(dims)).hits(low, high);
}

// Cheap tests that settle nearly all pairs; no value: undecided.
std::optional<bool> quickOverlap(const ByteBox& a, const ByteBox& b) {
  if (a.isEmpty() || b.isEmpty() || a.begin >= b.end || b.begin >= a.end) return false;
  if (a.dims.empty() && b.dims.empty()) return true;
  if (a.period == b.period) {
    const int64_t ahead = modulo(b.phase - a.phase, a.period);
    if (ahead >= a.run && a.period - ahead >= b.run) return false;
  }
  return std::nullopt;
}

}  // namespace

std::optional<ByteRange> boundsOf(const Access& access) {
  if (isEmptyAccess(access)) return ByteRange{access.offset, access.offset};
  int64_t low = access.offset;
  int64_t high = 0;
  if (__builtin_add_overflow(access.offset, access.element_bytes, &high)) return std::nullopt;
  for (const auto [size, stride] : access.dims) {
    int64_t& side = stride < 0 ? low : high;
    int64_t extent = 0;
    if (__builtin_mul_overflow(size - 1, stride, &extent) || __builtin_add_overflow(side, extent, &side)) {
      return std::nullopt;
    }
  }
  if (low < -kByteLimit || high > kByteLimit) return std::nullopt;
  return ByteRange{low, high};
}

ByteBox byteBoxOf(const Access& access) {
  const std::optional<ByteRange> bounds = boundsOf(access);
  TK_CHECK(bounds.has_value(), "byteBoxOf: the access at offset {} reaches further than 2^61 bytes", access.offset);
  ByteBox box{.begin = bounds->begin, .end = bounds->end};
  if (box.isEmpty()) return box;
  for (const auto [size, stride] : access.dims) {
    if (size > 1 && stride != 0) box.dims.push_back({size, std::abs(stride)});
  }
  sortByStride(box.dims);
  box.run = absorbIntoRun(box.dims, access.element_bytes);
  mergeSequences(box.dims);
  for (const Access::Dim& dim : box.dims) box.period = std::gcd(box.period, dim.stride);
  if (box.period != 0) box.phase = modulo(box.begin, box.period);
  return box;
}

ByteBox wholeBox(int64_t bytes) { return {.begin = 0, .end = bytes, .run = bytes}; }

bool overlaps(const ByteBox& a, const ByteBox& b) {
  if (const auto quick = quickOverlap(a, b)) return *quick;
  // a.begin + sum over a + [0, a.run) meets b.begin + sum over b + [0, b.run): with a's indices counted from their ends
  // this is one sum over the dims of both in an interval.
  Dims dims = a.dims;
  dims.insert(dims.end(), b.dims.begin(), b.dims.end());
  const int64_t distance = a.end - a.run - b.begin;  // from b's first run to a's last one
  return sumHits(std::move(dims), distance - (b.run - 1), distance + (a.run - 1));
}

bool overlaps(const Access& a, const Access& b) { return a.buffer == b.buffer && overlaps(byteBoxOf(a), byteBoxOf(b)); }

bool hasOverlappingElements(const Access& access) {
  if (isEmptyAccess(access)) return false;
  Dims dims;
  for (const auto [size, stride] : access.dims) {
    if (size > 1 && stride != 0) dims.push_back({size, std::abs(stride)});
  }
  sortByStride(dims);
  // The common case, nested dims: each stride is beyond all that the smaller ones reach.
  int64_t reach = access.element_bytes;
  bool is_nested = true;
  for (const Access::Dim& dim : dims) {
    is_nested = is_nested && dim.stride >= reach;
    reach += dim.stride * (dim.size - 1);
  }
  if (is_nested) return false;
  // Otherwise: a difference of two indices, the first non-zero digit positive, that moves by less than an element.
  for (size_t k = 0; k < dims.size(); ++k) {
    Dims difference = {{dims[k].size - 1, dims[k].stride}};
    int64_t lowest = dims[k].stride;
    for (size_t other = k + 1; other < dims.size(); ++other) {
      difference.push_back({2 * dims[other].size - 1, dims[other].stride});
      lowest -= (dims[other].size - 1) * dims[other].stride;
    }
    if (difference[0].size == 1) difference.erase(difference.begin());
    if (sumHits(std::move(difference), -(access.element_bytes - 1) - lowest, access.element_bytes - 1 - lowest))
      return true;
  }
  return false;
}

bool isSameElements(const Access& a, const Access& b) {
  // Merges axes that are contiguous, so that a reshape has the same elements.
  const auto folded = [](const Access& access) {
    Dims dims;
    for (const Access::Dim& dim : access.dims) {
      if (dim.size == 1) continue;
      if (!dims.empty() && dims.back().stride == dim.stride * dim.size) {
        dims.back() = {dims.back().size * dim.size, dim.stride};
      } else {
        dims.push_back(dim);
      }
    }
    return dims;
  };
  return a.buffer == b.buffer && a.offset == b.offset && a.element_bytes == b.element_bytes && folded(a) == folded(b);
}

}  // namespace tokamak
