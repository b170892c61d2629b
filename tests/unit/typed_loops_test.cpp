// The typed loops by vectors of every width against the same loops on one element at a time, which are the formulas.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "loops/typed_loops.h"

namespace tokamak {
namespace {

// No whole number of vectors of any width.
constexpr int64_t kElements = 4099;
constexpr DataType kComputed[] = {DataType::F32, DataType::F64, DataType::I32, DataType::I64, DataType::Bool};

std::vector<VectorWidth> widths() {
  if (widestVectors() == VectorWidth::Narrow) return {VectorWidth::Narrow};
  return {VectorWidth::Narrow, VectorWidth::Wide};
}

std::string widthName(VectorWidth width) { return width == VectorWidth::Wide ? "wide" : "narrow"; }

class Elements {
 public:
  Elements(DataType dtype, int64_t count) : dtype_(dtype), bytes_(static_cast<size_t>(count * sizeOf(dtype))) {}

  void* at(int64_t i) { return bytes_.data() + i * sizeOf(dtype_); }
  const void* at(int64_t i) const { return bytes_.data() + i * sizeOf(dtype_); }
  int64_t count() const { return static_cast<int64_t>(bytes_.size()) / sizeOf(dtype_); }
  DataType dtype() const { return dtype_; }

  // Bit by bit, but for NaNs, of which one is as good as another.
  bool isSame(int64_t i, const Elements& other) const {
    if (std::memcmp(at(i), other.at(i), static_cast<size_t>(sizeOf(dtype_))) == 0) return true;
    return isNaN(i) && other.isNaN(i);
  }
  std::string text(int64_t i) const {
    std::string text;
    for (int64_t byte = sizeOf(dtype_); byte-- > 0;) {
      const auto value = static_cast<unsigned char>(bytes_[static_cast<size_t>(i * sizeOf(dtype_) + byte)]);
      text += {"0123456789abcdef"[value / 16], "0123456789abcdef"[value % 16]};
    }
    return text;
  }

 private:
  bool isNaN(int64_t i) const {
    if (!isFloatingType(dtype_)) return false;
    double value = 0;
    castLoop(DataType::F64, dtype_)(&value, at(i), 1);
    return value != value;
  }

  DataType dtype_;
  std::vector<char> bytes_;
};

template <class T>
T sample(std::mt19937_64& random) {
  using Limits = std::numeric_limits<T>;
  const uint64_t bits = random();
  const uint64_t way = random() % 4;
  if constexpr (std::is_floating_point_v<T>) {
    constexpr T special[] = {0,
                             T(-0.0),
                             T(0.5),
                             T(2.5),
                             Limits::infinity(),
                             -Limits::infinity(),
                             Limits::quiet_NaN(),
                             Limits::denorm_min(),
                             -Limits::min(),
                             Limits::max(),
                             T(0x1p31),
                             T(-0x1p31),
                             T(0x1p63),
                             T(-0x1.8p64),
                             T(65519),
                             T(65520)};
    if (way == 0) return special[bits % std::size(special)];
    if (way == 1) return static_cast<T>(static_cast<int64_t>(bits)) * T(0x1p-60);
    // All bits, or those down to the one behind the last of f16 or bf16: many are halfway between two of their numbers.
    const uint64_t kept = way == 2 ? ~uint64_t{0} : (bits % 2 == 0 ? ~uint64_t{0xfff} : ~uint64_t{0x7fff});
    return std::bit_cast<T>(static_cast<std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>(bits & kept));
  } else {
    constexpr T special[] = {0, 1, -1, 2, 31, 32, 63, 64, Limits::min(), Limits::min() + 1, Limits::max()};
    if (way == 0) return special[bits % std::size(special)];
    return way == 1 ? static_cast<T>(bits) : static_cast<T>(bits % 100) - 50;
  }
}

Elements samples(DataType dtype, int64_t count, std::mt19937_64& random) {
  Elements elements(dtype, count);
  const auto fill = [&](auto next) {
    for (int64_t i = 0; i < count; ++i) {
      const auto value = next(i);
      std::memcpy(elements.at(i), &value, sizeof(value));
    }
  };
  switch (dtype) {
    case DataType::F64: fill([&](int64_t) { return sample<double>(random); }); break;
    case DataType::F32: fill([&](int64_t) { return sample<float>(random); }); break;
    case DataType::F16:
    case DataType::BF16: fill([](int64_t i) { return static_cast<uint16_t>(i); }); break;
    case DataType::I32: fill([&](int64_t) { return sample<int32_t>(random); }); break;
    case DataType::I64: fill([&](int64_t) { return sample<int64_t>(random); }); break;
    case DataType::Bool: fill([&](int64_t) { return random() % 2 == 0; }); break;
  }
  return elements;
}

// Without numbers that swallow others: from -1 on, floating ones in steps of 1 / parts.
Elements smallSamples(DataType dtype, int64_t count, std::mt19937_64& random, double parts = 1999) {
  std::vector<double> numbers;
  for (int64_t i = 0; i < count; ++i)
    numbers.push_back(static_cast<double>(random() % 4001) / (isFloatingType(dtype) ? parts : 1.0) - 1);
  Elements elements(dtype, count);
  castLoop(dtype, DataType::F64, VectorWidth::Narrow)(elements.at(0), numbers.data(), count);
  return elements;
}

void expectSame(const Elements& got, const Elements& expected, const std::string& what) {
  for (int64_t i = 0; i < expected.count(); ++i) {
    ASSERT_TRUE(got.isSame(i, expected)) << what << ", element " << i << ": " << got.text(i) << ", not "
                                         << expected.text(i);
  }
}

TEST(TypedLoops, FunctionsGiveTheSameByVectorsAsOneByOne) {
  std::mt19937_64 random(1);
  for (const FunctionInfo& info : allFunctions()) {
    for (const DataType dtype : kComputed) {
      const auto types = functionTypes(info.id, dtype);
      if (!types || types->operand != dtype) continue;
      std::vector<Elements> operands;
      for (int k = 0; k < 4; ++k) {
        const bool is_condition = k == 0 && info.rule == TypeRule::Choose;
        operands.push_back(samples(is_condition ? DataType::Bool : dtype, kElements, random));
      }
      const auto from = [&](int64_t i) {
        return std::vector<const void*>{operands[0].at(i), operands[1].at(i), operands[2].at(i), operands[3].at(i)};
      };
      Elements expected(types->result, kElements);
      const FunctionLoop of_one = functionLoop(info.id, dtype, VectorWidth::Narrow);
      for (int64_t i = 0; i < kElements; ++i) of_one(expected.at(i), from(i).data(), 1);
      for (const VectorWidth width : widths()) {
        Elements got(types->result, kElements);
        functionLoop(info.id, dtype, width)(got.at(0), from(0).data(), kElements);
        expectSame(got, expected, std::string(info.name) + " " + widthName(width));
      }
    }
  }
}

TEST(TypedLoops, CastsGiveTheSameByVectorsAsOneByOne) {
  std::mt19937_64 random(2);
  for (const DataType from : kAllDataTypes) {
    // Every number of the half types.
    const Elements in = samples(from, isHalfType(from) ? 0x10000 : kElements, random);
    for (const DataType to : kAllDataTypes) {
      Elements expected(to, in.count());
      const CastLoop of_one = castLoop(to, from, VectorWidth::Narrow);
      for (int64_t i = 0; i < in.count(); ++i) of_one(expected.at(i), in.at(i), 1);
      for (const VectorWidth width : widths()) {
        Elements got(to, in.count());
        castLoop(to, from, width)(got.at(0), in.at(0), in.count());
        const std::string names = std::string(dataTypeName(from)) + " to " + std::string(dataTypeName(to));
        expectSame(got, expected, names + " " + widthName(width));
      }
    }
  }
}

class TypedReductions : public ::testing::Test {
 protected:
  // Calls `check` with the loops of all reductions, types and widths, those on one element, and the accumulators' type.
  template <class Check>
  void ofAll(const Check& check) {
    for (const ReductionKind kind : {ReductionKind::Sum, ReductionKind::Prod, ReductionKind::Max, ReductionKind::Min}) {
      for (const DataType dtype : kComputed) {
        const ReductionLoops& of_one = reductionLoops(kind, dtype, VectorWidth::Narrow);
        const DataType wide = isFloatingType(dtype) ? DataType::F64 : DataType::I64;
        const DataType accumulator = of_one.accumulator_size == sizeOf(dtype) ? dtype : wide;
        for (const VectorWidth width : widths()) {
          SCOPED_TRACE(std::to_string(static_cast<int>(kind)) + " " + std::string(dataTypeName(dtype)));
          check(reductionLoops(kind, dtype, width), of_one, dtype, accumulator);
        }
      }
    }
  }
  std::mt19937_64 random_{3};
};

TEST_F(TypedReductions, GiveTheSameByVectorsAsOneByOne) {
  ofAll([&](const ReductionLoops& loops, const ReductionLoops& of_one, DataType dtype, DataType accumulator) {
    // With what rounding loses behind them.
    Elements expected(accumulator, 2 * kElements);
    Elements got(accumulator, 2 * kElements);
    const int64_t distance = kElements * sizeOf(accumulator);
    for (int64_t i = 0; i < kElements; ++i) of_one.start(expected.at(i), distance, 1);
    loops.start(got.at(0), distance, kElements);
    expectSame(got, expected, "start");
    for (int turn = 0; turn < 2; ++turn) {
      const Elements in = samples(dtype, kElements, random_);
      for (int64_t i = 0; i < kElements; ++i) of_one.add_each(expected.at(i), in.at(i), 1);
      loops.add_each(got.at(0), in.at(0), kElements);
      expectSame(got, expected, "add_each");
    }
    const Elements others = samples(accumulator, 2 * kElements, random_);
    for (int64_t i = 0; i < kElements; ++i) of_one.merge(expected.at(i), distance, others.at(i), distance, 1);
    loops.merge(got.at(0), distance, others.at(0), distance, kElements);
    expectSame(got, expected, "merge");
    Elements expected_out(dtype, kElements);
    Elements out(dtype, kElements);
    for (int64_t i = 0; i < kElements; ++i) of_one.finish(expected_out.at(i), expected.at(i), distance, 1);
    loops.finish(out.at(0), got.at(0), distance, kElements);
    expectSame(out, expected_out, "finish");
  });
}

// Rows that lie apart; of f32 they are added in f32 first, so numbers are small integers.
TEST_F(TypedReductions, AddEightRowsAsOneAfterTheOther) {
  ofAll([&](const ReductionLoops& loops, const ReductionLoops& of_one, DataType dtype, DataType accumulator) {
    constexpr int64_t kTogether = ReductionLoops::kRows;
    for (const int64_t n : {1, 7, 8, 15, 16, 33, 61}) {
      const int64_t stride = n + 3;
      const Elements in = smallSamples(dtype, kTogether * stride, random_, 1);
      Elements expected(accumulator, n);
      Elements got(accumulator, n);
      of_one.start(expected.at(0), 0, n);
      loops.start(got.at(0), 0, n);
      for (int64_t row = 0; row < kTogether; ++row) {
        for (int64_t i = 0; i < n; ++i) of_one.add_each(expected.at(i), in.at(row * stride + i), 1);
      }
      loops.add_rows(got.at(0), in.at(0), stride * sizeOf(dtype), n);
      expectSame(got, expected, std::to_string(n) + " columns");
    }
  });
}

TEST_F(TypedReductions, AddARowInPartsThatAreCombinedAsATree) {
  ofAll([&](const ReductionLoops& loops, const ReductionLoops& of_one, DataType dtype, DataType accumulator) {
    for (const int64_t n : {1, 15, 16, 17, 31, 32, 33, 70, 1024}) {
      const Elements in = smallSamples(dtype, n, random_);
      constexpr int64_t kParts = ReductionLoops::kResults;
      Elements parts(accumulator, 2 * kParts);
      const int64_t distance = kParts * sizeOf(accumulator);
      of_one.start(parts.at(0), distance, kParts);
      for (int64_t i = 0; i < n; ++i) of_one.add_each(parts.at(i % kParts), in.at(i), 1);
      for (int64_t width = kParts / 2; width > 0; width /= 2) {
        for (int64_t i = 0; i < width; ++i) of_one.merge(parts.at(i), distance, parts.at(i + width), distance, 1);
      }
      // Within a row nothing is kept of what rounding loses.
      std::memset(parts.at(kParts), 0, static_cast<size_t>(distance));
      Elements expected(accumulator, 2);
      Elements got(accumulator, 2);
      const int64_t beside = sizeOf(accumulator);
      of_one.start(expected.at(0), beside, 1);
      of_one.merge(expected.at(0), beside, parts.at(0), distance, 1);
      loops.start(got.at(0), beside, 1);
      loops.add_all(got.at(0), beside, in.at(0), n);
      // Long rows of f32 are added in f32 first, eight numbers at a time.
      if (dtype == DataType::F32 && accumulator == DataType::F64 && n >= 8 * kParts) {
        double numbers[2];
        std::memcpy(&numbers[0], got.at(0), sizeof(double));
        std::memcpy(&numbers[1], expected.at(0), sizeof(double));
        double magnitude = 0;
        for (int64_t i = 0; i < n; ++i) {
          float number = 0;
          std::memcpy(&number, in.at(i), sizeof(number));
          magnitude += std::fabs(number);
        }
        EXPECT_NEAR(numbers[0], numbers[1], 3 * 0x1p-24 * magnitude);
        continue;
      }
      expectSame(got, expected, std::to_string(n) + " elements");
    }
  });
}

// The worst for a chain of additions: each of them rounds to the same side.
TEST(TypedLoops, SumsOfManyEqualNumbersAreExactToTheLastPlace) {
  constexpr int64_t kCount = 1 << 20;
  const std::vector<double> ones(kCount, 0.1);
  const auto expected = static_cast<double>(0.1L * kCount);
  for (const VectorWidth width : widths()) {
    const ReductionLoops& loops = reductionLoops(ReductionKind::Sum, DataType::F64, width);
    double row[2];
    double result = 0;
    loops.start(row, sizeof(double), 1);
    loops.add_all(row, sizeof(double), ones.data(), kCount);
    loops.finish(&result, row, sizeof(double), 1);
    EXPECT_NEAR(result, expected, 16 * 0x1p-53 * expected);  // within its blocks
    double columns[2];
    loops.start(columns, sizeof(double), 1);
    for (int64_t i = 0; i < kCount; i += 64) {
      double block = 0;
      loops.start(&block, 0, 1);
      for (int64_t k = i; k < i + 64; ++k) loops.add_each(&block, &ones[static_cast<size_t>(k)], 1);
      loops.merge(columns, sizeof(double), &block, 0, 1);
    }
    loops.finish(&result, columns, sizeof(double), 1);
    EXPECT_NEAR(result, expected, 16 * 0x1p-53 * expected);
    // What is not finite stays what it is.
    const double infinity = std::numeric_limits<double>::infinity();
    loops.merge(columns, sizeof(double), &infinity, 0, 1);
    loops.merge(columns, sizeof(double), ones.data(), 0, 1);
    loops.finish(&result, columns, sizeof(double), 1);
    EXPECT_EQ(result, infinity);
  }
}

TEST(TypedLoops, TransposedCopiesPutEveryElementInItsPlace) {
  std::mt19937_64 random(4);
  for (const DataType dtype : {DataType::Bool, DataType::BF16, DataType::F32, DataType::F64}) {
    for (const auto& [rows, columns] : {std::pair{64, 96}, {7, 9}, {33, 70}, {1, 20}}) {
      const Elements in = samples(dtype, columns * 100, random);
      Elements expected(dtype, rows * 101);
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t c = 0; c < columns; ++c)
          std::memcpy(expected.at(r * 101 + c), in.at(r + c * 100), static_cast<size_t>(sizeOf(dtype)));
      }
      for (const VectorWidth width : widths()) {
        Elements got(dtype, rows * 101);
        copyTransposed(got.at(0), 101, in.at(0), 100, rows, columns, sizeOf(dtype), width);
        expectSame(got, expected, std::string(dataTypeName(dtype)) + " " + widthName(width));
      }
    }
  }
}

TEST(TypedLoops, CopiesOfOneElementFillTheResult) {
  std::mt19937_64 random(5);
  for (const DataType dtype : {DataType::Bool, DataType::BF16, DataType::F32, DataType::F64}) {
    const Elements in = samples(dtype, 2, random);
    Elements expected(dtype, 71);
    for (int64_t i = 0; i < 70; ++i) std::memcpy(expected.at(i), in.at(1), static_cast<size_t>(sizeOf(dtype)));
    Elements got(dtype, 71);
    copyStrided(got.at(0), 1, in.at(1), 0, 70, sizeOf(dtype));
    expectSame(got, expected, std::string(dataTypeName(dtype)));
  }
}

}  // namespace
}  // namespace tokamak
