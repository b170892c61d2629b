// Three pointwise ops, inputs for them, and what they make of them: enough where a test is about calls, not values.
#pragma once

#include <vector>

#include <gtest/gtest.h>

#include "host_run/run_bench.h"

namespace tokamak {

inline const char* const kShortChain =
    "fusion f(T0: f32[i0, i2]) -> T3 { T1 = mul(T0, 2.0) T2 = add(T1, 1.0) T3 = mul(T2, T1) } sizes { i0 = 8, i2 = 8 }";

inline Tensor threes(RunBench& bench, int64_t rows, int64_t columns = 8) {
  return bench.numbers(DataType::F32, {rows, columns}, std::vector<double>(static_cast<size_t>(rows * columns), 3));
}

/// Waits for what the chain made of threes.
inline void expectAnswer(const Tensor& output) {
  const auto* data = static_cast<const float*>(output.hostDataToRead());
  for (int64_t i = 0; i < output.numel(); ++i) ASSERT_EQ(data[i], 42.0F);
}

}  // namespace tokamak
