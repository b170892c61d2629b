#include <chrono>
#include <cstdlib>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "host/check/access_overlap.h"
#include "host/sanitized_share.h"

namespace tokamak {

namespace {

// All bytes of an access, one by one, by counting its indices up.
template <class Visit>
void forEachElement(const Access& access, const Visit& visit) {
  for (const auto& dim : access.dims) {
    if (dim.size <= 0) return;
  }
  std::vector<int64_t> index(access.dims.size(), 0);
  for (;;) {
    int64_t at = access.offset;
    for (size_t d = 0; d < index.size(); ++d) at += index[d] * access.dims[d].stride;
    visit(at);
    size_t d = index.size();
    while (d > 0 && ++index[d - 1] == access.dims[d - 1].size) index[--d] = 0;
    if (d == 0) return;
  }
}

std::set<int64_t> countedBytes(const Access& access) {
  std::set<int64_t> bytes;
  forEachElement(access, [&](int64_t at) {
    for (int64_t b = 0; b < access.element_bytes; ++b) bytes.insert(at + b);
  });
  return bytes;
}

bool meets(const std::set<int64_t>& a, const std::set<int64_t>& b) {
  for (auto x = a.begin(), y = b.begin(); x != a.end() && y != b.end();) {
    if (*x == *y) return true;
    *x < *y ? ++x : ++y;
  }
  return false;
}

// A use of memory whose element i overlaps another element with different indices, axes of stride 0 aside.
bool hasOverlapByCounting(Access access) {
  std::erase_if(access.dims, [](const Access::Dim& dim) { return dim.stride == 0 && dim.size > 0; });
  int64_t elements = 0;
  forEachElement(access, [&](int64_t) { ++elements; });
  return static_cast<int64_t>(countedBytes(access).size()) != elements * access.element_bytes;
}

std::string describe(const Access& access) {
  std::string text = "offset " + std::to_string(access.offset) + " element " + std::to_string(access.element_bytes);
  for (const auto& dim : access.dims) {
    text += " (" + std::to_string(dim.size) + " x " + std::to_string(dim.stride) + ")";
  }
  return text;
}

class AccessGenerator {
 public:
  explicit AccessGenerator(uint32_t seed) : random_(seed) {}

  int64_t pick(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random_); }

  Access arbitrary() {
    Access access{.offset = pick(0, 120), .element_bytes = pick(1, 4)};
    const int64_t rank = pick(0, 4);
    const int64_t stride_limit = pick(0, 1) == 0 ? 12 : 90;
    for (int64_t d = 0; d < rank; ++d) {
      access.dims.push_back({pick(pick(0, 9) == 0 ? 0 : 1, 5), pick(-stride_limit, stride_limit)});
    }
    return access;
  }

  // A slice with steps, flips, expanded axes and windows of one dense tensor of `sizes`.
  Access sliceOf(const std::vector<int64_t>& sizes, int64_t element_bytes) {
    Access access{.element_bytes = element_bytes};
    int64_t stride = element_bytes;
    for (size_t d = sizes.size(); d-- > 0;) {
      const int64_t start = pick(0, sizes[d] - 1);
      const int64_t step = pick(1, 3);
      const int64_t size = pick(1, (sizes[d] - 1 - start) / step + 1);
      access.offset += start * stride;
      access.dims.insert(access.dims.begin(), Access::Dim{size, step * stride});
      if (pick(0, 5) == 0) {
        access.offset += (size - 1) * step * stride;
        access.dims.front().stride = -access.dims.front().stride;
      }
      stride *= sizes[d];
    }
    if (pick(0, 5) == 0) access.dims.push_back({pick(1, 4), 0});
    if (pick(0, 5) == 0 && !access.dims.empty()) access.dims.push_back({2, access.dims.front().stride});
    return access;
  }

 private:
  std::mt19937 random_;
};

void expectExact(const Access& a, const Access& b, int64_t& overlapping) {
  const bool expected = meets(countedBytes(a), countedBytes(b));
  overlapping += static_cast<int64_t>(expected);
  ASSERT_EQ(overlaps(a, b), expected) << describe(a) << " and " << describe(b);
  ASSERT_EQ(overlaps(b, a), expected) << describe(b) << " and " << describe(a);
  ASSERT_EQ(hasOverlappingElements(a), hasOverlapByCounting(a)) << describe(a);
}

TEST(AccessOverlap, OfArbitraryStridedBoxesIsWhatTheByteSetsSay) {
  AccessGenerator generator(1);
  int64_t overlapping = 0;
  constexpr int64_t kPairs = 100'000 / kShare;
  for (int64_t i = 0; i < kPairs && !HasFatalFailure(); ++i) {
    const Access a = generator.arbitrary();
    const Access b = generator.arbitrary();
    expectExact(a, b, overlapping);
  }
  std::printf("%lld pairs, %lld overlap\n", static_cast<long long>(kPairs), static_cast<long long>(overlapping));
  EXPECT_GT(overlapping, kPairs / 10);
  EXPECT_LT(overlapping, kPairs * 9 / 10);
}

TEST(AccessOverlap, OfSlicesOfOneTensorIsWhatTheByteSetsSay) {
  AccessGenerator generator(2);
  int64_t overlapping = 0;
  constexpr int64_t kPairs = 50'000 / kShare;
  for (int64_t i = 0; i < kPairs && !HasFatalFailure(); ++i) {
    std::vector<int64_t> sizes(static_cast<size_t>(generator.pick(1, 4)));
    for (auto& size : sizes) size = generator.pick(1, 6);
    const int64_t element_bytes = int64_t{1} << generator.pick(0, 3);
    const Access a = generator.sliceOf(sizes, element_bytes);
    expectExact(a, generator.sliceOf(sizes, element_bytes), overlapping);
  }
  std::printf("%lld pairs, %lld overlap\n", static_cast<long long>(kPairs), static_cast<long long>(overlapping));
  EXPECT_GT(overlapping, kPairs / 10);
  EXPECT_LT(overlapping, kPairs * 9 / 10);
}

TEST(AccessOverlap, OfThreeAndMoreUnrelatedStridesIsSearchedExactly) {
  AccessGenerator generator(3);
  int64_t overlapping = 0;
  for (int64_t i = 0; i < 20'000 && !HasFatalFailure(); ++i) {
    const auto sparse = [&] {
      Access access{.offset = generator.pick(0, 300), .element_bytes = generator.pick(1, 2)};
      for (int64_t d = 0; d < 3; ++d) access.dims.push_back({generator.pick(2, 4), generator.pick(20, 400)});
      return access;
    };
    const Access a = sparse();
    expectExact(a, sparse(), overlapping);
  }
  std::printf("20000 pairs, %lld overlap\n", static_cast<long long>(overlapping));
  EXPECT_GT(overlapping, 1000);
}

TEST(AccessOverlap, IsFastOnHugeTensors) {
  // 2^40 bytes: columns, 4-D strided pieces and steps that never meet; enumeration would take hours.
  const int64_t row = int64_t{1} << 20;
  const Access even{.offset = 0, .element_bytes = 4, .dims = {{row, row}, {row / 8, 8}}};
  const Access odd{.offset = 4, .element_bytes = 4, .dims = {{row, row}, {row / 8, 8}}};
  const Access left{.offset = 0, .element_bytes = 4, .dims = {{64, row * 64}, {32, row * 2}, {16, 64}, {8, 8}}};
  const Access right{.offset = row + 4, .element_bytes = 4, .dims = {{64, row * 64}, {32, row * 2}, {16, 64}, {8, 8}}};
  const Access threes{.offset = 1, .element_bytes = 1, .dims = {{row, 3 * 1000}, {300, 3}, {1, 0}}};
  const Access other_threes{.offset = 2, .element_bytes = 1, .dims = {{row / 3, 3 * 999}, {333, 3}, {7, 3 * 7919}}};
  const auto start = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < 1000; ++i) {
    ASSERT_FALSE(overlaps(even, odd));
    ASSERT_TRUE(overlaps(even, even));
    ASSERT_FALSE(overlaps(left, right));
    ASSERT_FALSE(overlaps(threes, other_threes));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
}

TEST(AccessOverlap, NormalFormOfADenseBoxHasNoDims) {
  const Access dense{.offset = 8, .element_bytes = 4, .dims = {{3, 40}, {5, 8}, {2, 4}, {6, 0}}};
  const ByteBox box = byteBoxOf(dense);
  EXPECT_EQ(box.begin, 8);
  EXPECT_EQ(box.end, 8 + 120);
  EXPECT_EQ(box.run, 120);
  EXPECT_TRUE(box.dims.empty());
  // Overlapping windows over a column are one column.
  const ByteBox windows = byteBoxOf({.offset = 0, .element_bytes = 4, .dims = {{10, 100}, {3, 100}}});
  ASSERT_EQ(windows.dims.size(), 1U);
  EXPECT_EQ(windows.dims[0], (Access::Dim{12, 100}));
  EXPECT_EQ(windows.period, 100);
}

TEST(AccessOverlap, BoundsThatDoNotFitAreNoValue) {
  const int64_t huge = int64_t{1} << 62;
  EXPECT_FALSE(boundsOf({.offset = 0, .element_bytes = 4, .dims = {{3, huge}}}).has_value());
  EXPECT_FALSE(boundsOf({.offset = huge, .element_bytes = 4}).has_value());
  EXPECT_FALSE(boundsOf({.offset = 0, .element_bytes = 4, .dims = {{2, -huge}}}).has_value());
  EXPECT_EQ(boundsOf({.offset = 100, .element_bytes = 4, .dims = {{3, -10}, {2, 4}}}), (ByteRange{80, 108}));
  EXPECT_TRUE(boundsOf({.offset = 100, .element_bytes = 4, .dims = {{0, huge}, {3, huge}}})->isEmpty());
}

TEST(AccessOverlap, SameElementsMeansTheSameOrderToo) {
  const Access rows{.offset = 0, .element_bytes = 4, .dims = {{4, 32}, {8, 4}}};
  const Access flat{.offset = 0, .element_bytes = 4, .dims = {{32, 4}}};
  const Access unsqueezed{.offset = 0, .element_bytes = 4, .dims = {{4, 32}, {1, 7}, {8, 4}}};
  const Access transposed{.offset = 0, .element_bytes = 4, .dims = {{8, 4}, {4, 32}}};
  EXPECT_TRUE(isSameElements(rows, flat));
  EXPECT_TRUE(isSameElements(rows, unsqueezed));
  EXPECT_FALSE(isSameElements(rows, transposed));
}

}  // namespace

}  // namespace tokamak
