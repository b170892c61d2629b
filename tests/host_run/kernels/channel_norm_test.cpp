// Statistics of batch_norm and group_norm, made in one pass over f32 and half types, against two passes in long double:
// where the mean is far from 0, where elements that the pass begins with are far from the others, where all are equal,
// and where some are infinite or NaN.
#include <cmath>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "host_run/program_text.h"
#include "host_run/run_bench.h"

namespace tokamak {
namespace {

using Row = std::vector<double>;

// The elements of a channel lie in a box.
struct Box {
  std::vector<int64_t> sizes;
  int64_t count() const {
    int64_t count = 1;
    for (const int64_t size : sizes) count *= size;
    return count;
  }
  // The place of the element at `part` quarters of each size: the mean of the four is what the pass takes differences
  // from.
  size_t sample(int64_t part) const {
    int64_t place = 0;
    for (const int64_t size : sizes) place = place * size + size * part / 4;
    return static_cast<size_t>(place);
  }
};

struct Moments {
  double mean = 0;
  double variance = 0;  // the sum of squares divided by the count less 1
  double distance = 0;  // of the mean of the four elements from the mean, in standard deviations
};

Moments momentsOf(const Row& row, const Box& box) {
  long double sum = 0;
  for (const double x : row) sum += x;
  const long double mean = sum / static_cast<long double>(row.size());
  long double squares = 0;
  for (const double x : row) squares += (x - mean) * (x - mean);
  long double near = 0;
  for (int64_t part = 0; part < 4; ++part) near += row[box.sample(part)] / 4;
  const long double deviation = std::sqrt(squares / static_cast<long double>(row.size()));
  const long double distance = deviation > 0 ? std::fabs(near - mean) / deviation : 0;
  return {static_cast<double>(mean), static_cast<double>(squares / static_cast<long double>(row.size() - 1)),
          static_cast<double>(distance)};
}

Row normal(const Box& box, double mean, double deviation, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> draw(mean, deviation);
  Row row;
  for (int64_t i = 0; i < box.count(); ++i) row.push_back(draw(random));
  return row;
}

Row withSamples(Row row, const Box& box, int64_t count, double value) {
  for (int64_t part = 0; part < count; ++part) row[box.sample(part)] = value;
  return row;
}

enum class Channels : uint8_t { First, Last };

// One batch, channels and what is in them: [1, .., channels] or [1, channels, ..]; the box begins with the 1.
Tensor tensorOf(RunBench& bench, DataType dtype, const std::vector<Row>& rows, const Box& box, Channels channels) {
  std::vector<int64_t> sizes = box.sizes;
  const auto count = static_cast<int64_t>(rows.size());
  std::vector<double> elements;
  if (channels == Channels::Last) {
    sizes.push_back(count);
    for (size_t i = 0; i < rows[0].size(); ++i)
      for (const Row& row : rows) elements.push_back(row[i]);
  } else {
    sizes.insert(sizes.begin() + 1, count);
    const auto inner = static_cast<size_t>(box.count() / box.sizes[0]);
    for (size_t image = 0; image < static_cast<size_t>(box.sizes[0]); ++image) {
      for (const Row& row : rows) {
        const auto begin = row.begin() + static_cast<std::ptrdiff_t>(image * inner);
        elements.insert(elements.end(), begin, begin + static_cast<std::ptrdiff_t>(inner));
      }
    }
  }
  return bench.numbers(dtype, sizes, elements);
}

// What the tensor holds of each row, after it was rounded to its type.
std::vector<Row> rowsOf(const Tensor& tensor, size_t count, const Box& box, Channels channels) {
  const std::vector<double> numbers = numbersOf(tensor);
  std::vector<Row> rows(count);
  const auto inner = static_cast<size_t>(box.count() / box.sizes[0]);
  for (size_t i = 0; i < numbers.size(); ++i)
    rows[channels == Channels::Last ? i % count : i / inner % count].push_back(numbers[i]);
  return rows;
}

struct Statistics {
  std::vector<double> mean, rstd, variance;
};

// Momentum 1: the running statistics are the batch's.
Statistics statisticsOf(RunBench& bench, const Tensor& in, size_t count, Channels channels) {
  const DataType statistic = in.dtype() == DataType::F64 ? DataType::F64 : DataType::F32;
  const int axis = channels == Channels::Last ? -1 : 1;
  std::string extents = axis == 1 ? "i0, c, i1, i2" : "i0, i1, i2, c";
  const auto fusion =
      fusionOf(fmt::format("fusion f(T0: {}[{}], T1: {}[c], T2: {}[c]) -> T4, T5, T6, T7 {{ T3, T4, T5, T6, T7 = "
                           "batch_norm(T0, none, none, T1, T2, "
                           "momentum=1, axis={}) }}",
                           dataTypeName(in.dtype()), extents, dataTypeName(statistic), dataTypeName(statistic), axis));
  MultiDeviceExecutor executor(
      *fusion, bench.device,
      {.lowering = {.grouping = Grouping::Fused}, .evaluator = {.segments = SegmentMode::Kernels}});
  const Tensor none = bench.numbers(statistic, {static_cast<int64_t>(count)}, Row(count, 0.0));
  const std::vector<Tensor> results = executor.runWithInput(std::vector<RunValue>{in, none, none});
  return {numbersOf(results[0]), numbersOf(results[1]), numbersOf(results[3])};
}

struct Largest {
  double mean = 0;
  double variance = 0;
};

// The promise at batch_norm: of the variance in 1e-6 (1 + k^2), of the mean in 1e-6 (1 + k) standard deviations and an
// ulp of its own.
void expectAccurate(const Statistics& got, const std::vector<Row>& rows, const Box& box, double unit,
                    Largest& largest) {
  for (size_t i = 0; i < rows.size(); ++i) {
    const Moments exact = momentsOf(rows[i], box);
    const double deviation = std::sqrt(exact.variance);
    const double of_mean = (std::fabs(got.mean[i] - exact.mean) - unit / 4 * std::fabs(exact.mean)) /
                           (unit * deviation * (1 + exact.distance));
    const double of_variance =
        std::fabs(got.variance[i] / exact.variance - 1) / (unit * (1 + exact.distance * exact.distance));
    EXPECT_LE(of_mean, 1) << "channel " << i << ": " << got.mean[i] << ", " << exact.mean;
    EXPECT_LE(of_variance, 1) << "channel " << i << ": " << got.variance[i] << ", " << exact.variance << ", distance "
                              << exact.distance;
    largest.mean = std::max(largest.mean, of_mean);
    largest.variance = std::max(largest.variance, of_variance);
  }
}

std::vector<Row> hardRows(const Box& box) {
  return {normal(box, 0, 1, 1),
          normal(box, 1e4, 1, 2),
          normal(box, 1e6, 1, 3),
          normal(box, 1, 1e-3, 4),
          normal(box, -3, 1e-4, 5),
          withSamples(normal(box, 0, 1, 6), box, 1, 1000),
          withSamples(normal(box, 5, 1, 7), box, 4, -1000),
          normal(box, 1e-10, 1e-12, 8)};
}

TEST(ChannelNorm, StatisticsAreAsAccurateAsIsPromised) {
  RunBench bench;
  Largest largest;
  for (const Box& box : {Box{{5, 7, 9}}, Box{{3, 28, 28}}, Box{{64, 7, 7}}, Box{{8, 112, 112}}}) {
    for (const DataType dtype : {DataType::F32, DataType::BF16, DataType::F16}) {
      for (const Channels channels : {Channels::First, Channels::Last}) {
        SCOPED_TRACE(fmt::format("{} of {} elements, {}", dataTypeName(dtype), box.count(),
                                 channels == Channels::First ? "channels first" : "channels last"));
        // Halves hold neither 1e6 nor small differences of large numbers.
        const std::vector<Row> rows = dtype == DataType::F32
                                          ? hardRows(box)
                                          : std::vector<Row>{normal(box, 0, 1, 1), normal(box, 50, 10, 2),
                                                             withSamples(normal(box, 0, 1, 3), box, 1, 1000)};
        const Tensor in = tensorOf(bench, dtype, rows, box, channels);
        const std::vector<Row> stored = rowsOf(in, rows.size(), box, channels);
        expectAccurate(statisticsOf(bench, in, rows.size(), channels), stored, box, 1e-6, largest);
      }
    }
  }
  fmt::print("largest errors of what is promised: mean {:.3f}, variance {:.3f}\n", largest.mean, largest.variance);
}

TEST(ChannelNorm, StatisticsOfManyElementsAreAsAccurateAsIsPromised) {
  RunBench bench;
  Largest largest;
  const Box box{{128, 112, 112}};
  const std::vector<Row> rows = {normal(box, 50, 10, 1), withSamples(normal(box, 0, 1, 2), box, 4, 1000)};
  for (const DataType dtype : {DataType::F32, DataType::BF16}) {
    for (const Channels channels : {Channels::First, Channels::Last}) {
      const Tensor in = tensorOf(bench, dtype, rows, box, channels);
      const std::vector<Row> stored = rowsOf(in, rows.size(), box, channels);
      expectAccurate(statisticsOf(bench, in, rows.size(), channels), stored, box, 5e-6, largest);
    }
  }
  fmt::print("largest errors of five times what is promised: mean {:.3f}, variance {:.3f}\n", largest.mean,
             largest.variance);
}

TEST(ChannelNorm, StatisticsOfF64AreExactToItsDigits) {
  RunBench bench;
  const Box box{{3, 28, 28}};
  const std::vector<Row> rows = {normal(box, 0, 1, 1), normal(box, 1e6, 1, 2)};
  const Tensor in = tensorOf(bench, DataType::F64, rows, box, Channels::First);
  const Statistics got = statisticsOf(bench, in, rows.size(), Channels::First);
  for (size_t i = 0; i < rows.size(); ++i) EXPECT_NEAR(got.variance[i] / momentsOf(rows[i], box).variance, 1, 1e-13);
}

TEST(ChannelNorm, EqualElementsHaveNoVariance) {
  RunBench bench;
  const Box box{{5, 7, 9}};
  const std::vector<double> values = {0.1F, 1e30F, -3.3333333F, 0, 1e-30F};
  std::vector<Row> rows;
  for (const double value : values) rows.emplace_back(static_cast<size_t>(box.count()), value);
  for (const Channels channels : {Channels::First, Channels::Last}) {
    const Tensor in = tensorOf(bench, DataType::F32, rows, box, channels);
    const Statistics got = statisticsOf(bench, in, rows.size(), channels);
    EXPECT_EQ(got.mean, values);
    EXPECT_EQ(got.variance, std::vector<double>(values.size(), 0.0));
  }
}

TEST(ChannelNorm, OneElementIsItsOwnMean) {
  RunBench bench;
  const Box box{{1, 1, 1}};
  const Tensor in = tensorOf(bench, DataType::F32, {{3.25}, {-1e30F}}, box, Channels::First);
  const Statistics got = statisticsOf(bench, in, 2, Channels::First);
  EXPECT_EQ(got.mean[0], 3.25);
  EXPECT_EQ(got.mean[1], -1e30F);
  EXPECT_NEAR(got.rstd[0], 1 / std::sqrt(1e-5), 1e-3);
}

// Whether they are among the four elements or not.
TEST(ChannelNorm, InfinitiesMakeTheMeanInfiniteAndNaNMakesItNaN) {
  RunBench bench;
  const Box box{{5, 7, 9}};
  const Row row = normal(box, 0, 1, 1);
  const double infinity = std::numeric_limits<double>::infinity();
  std::vector<Row> rows = {withSamples(row, box, 1, infinity), row, withSamples(row, box, 4, -infinity),
                           withSamples(row, box, 1, std::nan("")), row};
  rows[1][17] = infinity;
  rows[4][17] = std::nan("");
  for (const Channels channels : {Channels::First, Channels::Last}) {
    const Tensor in = tensorOf(bench, DataType::F32, rows, box, channels);
    const Statistics got = statisticsOf(bench, in, rows.size(), channels);
    EXPECT_EQ(got.mean[0], infinity);
    EXPECT_EQ(got.mean[1], infinity);
    EXPECT_EQ(got.mean[2], -infinity);
    EXPECT_TRUE(std::isnan(got.mean[3]) && std::isnan(got.mean[4]));
    for (const double variance : got.variance) EXPECT_TRUE(std::isnan(variance));
  }
}

}  // namespace
}  // namespace tokamak
