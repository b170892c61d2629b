// Outputs that are views: they lie in the memory of an input or of another output, cost no step, and are copied where
// they must be.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host_run/program_text.h"
#include "host_run/run_bench.h"
#include "interop/dlpack.h"

namespace tokamak {
namespace {

bool liesIn(const Tensor& view, const Tensor& memory) {
  const auto* first = static_cast<const std::byte*>(memory.buffer()->address());
  const auto* at = static_cast<const std::byte*>(view.data());
  return view.buffer() == memory.buffer() || (at >= first && at < first + memory.buffer()->bytes());
}

MultiDeviceExecutor viewExecutorOf(const Fusion& fusion, RunBench& bench, Mode mode) {
  return MultiDeviceExecutor(fusion, bench.device, {.lowering = {}, .evaluator = {.mode = mode}});
}

/// Of each output: "own" memory, or that of "T0", an input, or of "T3", another output.
struct ViewCase {
  std::string name;
  std::string fusion;
  std::vector<std::string> memory;
  int64_t steps = 0;  ///< of the plan
};

std::ostream& operator<<(std::ostream& out, const ViewCase& c) { return out << c.name; }

const std::string kMatrix = "fusion f(T0: f32[i0, i2]) -> ";
const std::string kSizes = " sizes { i0 = 5, i2 = 6 }";

const ViewCase kViewCases[] = {
    {"permute", kMatrix + "T1 { T1 = permute(T0, order=[1, 0]) }" + kSizes, {"T0"}},
    {"reshape", kMatrix + "T1 { T1 = reshape(T0, shape=[i0 * 2, 3]) }" + kSizes, {"T0"}},
    {"reshape_to_one_axis", kMatrix + "T1 { T1 = reshape(T0, shape=[i0 * i2]) }" + kSizes, {"T0"}},
    {"slice", kMatrix + "T1 { T1 = slice(T0, starts=[1, 1], stops=[4, 6], steps=[2, 3]) }" + kSizes, {"T0"}},
    {"select", kMatrix + "T1 { T1 = select(T0, axis=1, index=4) }" + kSizes, {"T0"}},
    {"squeeze", "fusion f(T0: f32[i0, 1]) -> T1 { T1 = squeeze(T0, flags=[false, true]) } sizes { i0 = 5 }", {"T0"}},
    {"broadcast", kMatrix + "T1 { T1 = broadcast(T0, flags=[false, true, false]) }" + kSizes, {"T0"}},
    {"expand",
     kMatrix + "T1 { T1 = expand(broadcast(T0, flags=[true, false, false]), shape=[3, i0, i2]) }" + kSizes,
     {"T0"}},
    {"chain",
     kMatrix +
         "T1 { T1 = permute(broadcast(slice(T0, starts=[1, 0], stops=[3, i2], steps=[1, 1]), flags=[false, true, "
         "false]), order=[2, 1, 0]) }" +
         kSizes,
     {"T0"}},
    {"reshape_of_a_slice_of_rows",
     kMatrix + "T1 { T1 = reshape(slice(T0, starts=[1, 0], stops=[4, i2], steps=[1, 1]), shape=[3 * i2]) }" + kSizes,
     {"T0"}},
    {"outputs_that_are_computed_alike",
     kMatrix + "(T1, T2) { T1 = relu(T0) T2 = relu(T0) }" + kSizes,
     {"own", "T1"},
     1},
    {"outputs_of_outputs_that_are_computed_alike",
     kMatrix +
         "(T1, T2, T5, T6, T7) { T1 = relu(T0) T2 = relu(T0) T3 = neg(T1) T4 = neg(T2) T5 = exp(T3) T6 = "
         "exp(T4) T7 = add(T2, T6) }" +
         kSizes,
     {"own", "T1", "own", "T5", "own"},
     1},
    {"a_set_and_a_reshape_of_one_value",
     kMatrix + "(T2, T3) { T1 = relu(T0) T2 = reshape(T1, shape=[i0 * i2]) T3 = set(T1) }" + kSizes,
     {"T3", "own"},
     1},
    {"sets_are_stored_each",
     kMatrix + "(T1, T2, T3) { T1 = relu(T0) T2 = set(T1) T3 = set(T1) }" + kSizes,
     {"own", "own", "own"},
     1},
    {"cat_of_parts_of_which_a_copy_is_an_output",
     kMatrix +
         "(T4, T5) { T1 = slice(T0, axis=1, start=0, stop=3) T2 = slice(T0, axis=1, start=3) T4 = set(T1) "
         "T5 = cat([T4, T2], axis=1) }" +
         kSizes,
     {"own", "T0"},
     1},
    {"cat_of_parts_of_which_one_is_copied",
     kMatrix +
         "T5 { T1 = slice(T0, axis=1, start=0, stop=3) T2 = slice(T0, axis=1, start=3) "
         "T5 = cat([T1, set(T2)], axis=1) }" +
         kSizes,
     {"T0"}},
    {"view_of_an_output",
     kMatrix + "(T1, T2) { T1 = exp(T0) T2 = permute(T1, order=[1, 0]) }" + kSizes,
     {"own", "T1"},
     1},
    {"view_before_what_it_is_of",
     kMatrix + "(T2, T1) { T1 = exp(T0) T2 = permute(T1, order=[1, 0]) }" + kSizes,
     {"T1", "own"},
     1},
    {"views_of_views",
     kMatrix +
         "(T1, T2, T3) { T1 = permute(T0, order=[1, 0]) T2 = select(T1, axis=0, index=2) T3 = broadcast(T2, "
         "flags=[false, true]) }" +
         kSizes,
     {"T0", "T0", "T0"}},
    {"a_view_and_a_value_of_one_input",
     kMatrix + "(T1, T2) { T1 = permute(T0, order=[1, 0]) T2 = add(exp(T1), 1.0) }" + kSizes,
     {"T0", "own"},
     1},
    {"a_view_of_a_reduction",
     kMatrix + "(T1, T2) { T1 = sum(T0, axes=[1]) T2 = expand(broadcast(T1, flags=[false, true]), shape=[i0, i2]) }" +
         kSizes,
     {"own", "T1"},
     1},
    {"a_view_of_a_product",
     "fusion f(T0: f32[m, k], T1: f32[k, n]) -> (T2, T3) { T2 = matmul(T0, T1) T3 = permute(T2, order=[1, 0]) } sizes "
     "{ "
     "m = 4, k = 3, n = 5 }",
     {"own", "T2"},
     1},
    {"the_order_that_is_required",
     kMatrix + "T1 { T1: f32[i2, i0] stride_order(0, 1) = permute(T0, order=[1, 0]) }" + kSizes,
     {"T0"}},
    {"another_order_than_is_required",
     kMatrix + "T1 { T1: f32[i2, i0] stride_order(1, 0) = permute(T0, order=[1, 0]) }" + kSizes,
     {"own"},
     1},
    {"reshape_of_a_permutation",
     kMatrix + "T1 { T1 = reshape(permute(T0, order=[1, 0]), shape=[i0 * i2]) }" + kSizes,
     {"own"},
     1},
    {"reshape_of_columns",
     kMatrix + "T1 { T1 = reshape(slice(T0, starts=[0, 1], stops=[i0, 4], steps=[1, 1]), shape=[i0 * 3]) }" + kSizes,
     {"own"},
     1},
    {"reshape_of_an_expansion",
     kMatrix +
         "T1 { T1 = reshape(expand(broadcast(T0, flags=[true, false, false]), shape=[3, i0, i2]), shape=[3 * i0 * "
         "i2]) }" +
         kSizes,
     {"own"},
     1},
    {"splits_behind_slices_and_permutations",
     "fusion f(T0: f32[b, s, 48]) -> (T3, T6) { T1 = slice(T0, starts=[0, 0, 0], stops=[b, s, 24]) T2 = reshape(T1, "
     "shape=[b, s, 6, 4]) T3 = permute(T2, order=[0, 2, 1, 3]) T4 = slice(T0, starts=[0, 0, 24], stops=[b, s, 48]) T5 "
     "= "
     "reshape(T4, shape=[b, s, 6, 4]) T6 = permute(T5, order=[0, 2, 1, 3]) } sizes { b = 2, s = 3 }",
     {"T0", "T0"}},
    {"a_split_of_a_permuted_axis",
     kMatrix + "T1 { T1 = reshape(permute(T0, order=[1, 0]), shape=[2, 3, i0]) }" + kSizes,
     {"T0"}},
    {"a_merge_of_axes_that_lie_together",
     "fusion f(T0: f32[b, s, h, 8]) -> T2 { T1 = permute(slice(T0, starts=[0, 0, 0, 2], stops=[b, s, h, 5]), "
     "order=[3, 0, 1, 2]) T2 = reshape(T1, shape=[3, b * s * h]) } sizes { b = 2, s = 3, h = 4 }",
     {"T0"}},
    {"a_merge_of_axes_of_which_one_is_cut",
     "fusion f(T0: f32[b, s, h, 8]) -> T2 { T1 = slice(T0, starts=[0, 1, 0, 0], stops=[b, s, h, 8]) T2 = reshape(T1, "
     "shape=[b * (s - 1), h, 8]) } sizes { b = 2, s = 3, h = 4 }",
     {"own"},
     1},
    {"a_merge_of_expanded_axes",
     kMatrix +
         "T1 { T1 = reshape(expand(broadcast(T0, flags=[true, true, false, false]), shape=[2, 3, i0, i2]), shape=[6, "
         "i0, i2]) }" +
         kSizes,
     {"T0"}},
    {"joined_parts",
     kMatrix +
         "T3 { T1 = slice(T0, starts=[0, 0], stops=[i0, 2]) T2 = slice(T0, starts=[0, 2], stops=[i0, i2]) T3 = "
         "cat([T1, T2], axis=1) }" +
         kSizes,
     {"T0"}},
    {"joined_parts_that_are_a_part",
     kMatrix +
         "T3 { T1 = slice(T0, starts=[0, 1], stops=[i0, 2]) T2 = slice(T0, starts=[0, 2], stops=[i0, 5]) T3 = "
         "cat([T1, T2], axis=1) }" +
         kSizes,
     {"T0"}},
    {"joined_parts_that_were_permuted_and_set",
     kMatrix +
         "T7 { T1 = slice(T0, starts=[0, 0], stops=[i0, 2]) T2 = permute(T1, order=[1, 0]) T3 = set(T2) T4 = "
         "slice(T0, starts=[0, 2], stops=[i0, i2]) T5 = permute(T4, order=[1, 0]) T6 = set(T5) T7 = cat([T3, "
         "T6], axis=0) }" +
         kSizes,
     {"T0"}},
    {"joined_parts_that_were_set_and_permuted",
     kMatrix +
         "T7 { T1 = slice(T0, starts=[0, 0], stops=[i0, 2]) T2 = set(T1) T3 = permute(T2, order=[1, 0]) T4 = "
         "slice(T0, starts=[0, 2], stops=[i0, i2]) T5 = set(T4) T6 = permute(T5, order=[1, 0]) T7 = cat([T3, "
         "T6], axis=0) }" +
         kSizes,
     {"T0"}},
    {"joined_parts_that_were_split",
     kMatrix +
         "T5 { T1 = slice(T0, starts=[0, 0], stops=[i0, 4]) T2 = reshape(T1, shape=[i0, 2, 2]) T3 = slice(T0, "
         "starts=[0, 4], stops=[i0, 6]) T4 = reshape(T3, shape=[i0, 1, 2]) T5 = cat([T2, T4], axis=1) }" +
         kSizes,
     {"T0"}},
    {"parts_joined_in_another_order",
     kMatrix +
         "T3 { T1 = slice(T0, starts=[0, 0], stops=[i0, 3]) T2 = slice(T0, starts=[0, 3], stops=[i0, 6]) T3 = "
         "cat([T2, T1], axis=1) }" +
         kSizes,
     {"own"},
     1},
    {"parts_joined_along_another_axis",
     kMatrix +
         "T3 { T1 = slice(T0, starts=[0, 0], stops=[i0, 3]) T2 = slice(T0, starts=[0, 3], stops=[i0, 6]) T3 = "
         "cat([T1, T2], axis=0) }" +
         kSizes,
     {"own"},
     1},
    {"parts_that_were_moved_in_two_ways",
     "fusion f(T0: f32[6, 2, 2]) -> T5 { T1 = slice(T0, starts=[0, 0, 0], stops=[3, 2, 2]) T2 = permute(T1, order=[0, "
     "2, "
     "1]) T3 = slice(T0, starts=[3, 0, 0], stops=[6, 2, 2]) T5 = cat([T2, T3], axis=0) }",
     {"own"},
     1},
    {"a_reshape_between_casts_that_lose_nothing",
     "fusion f(T0: bf16[i0, i2]) -> T3 { T1 = cast(T0, dtype=f32) T2 = reshape(T1, shape=[i2, i0]) T3 = cast(T2, "
     "dtype=bf16) }" +
         kSizes,
     {"T0"}},
    {"a_reshape_between_casts_that_lose_something",
     kMatrix + "T3 { T1 = cast(T0, dtype=bf16) T2 = reshape(T1, shape=[i2, i0]) T3 = cast(T2, dtype=f32) }" + kSizes,
     {"own"},
     1},
    {"two_views_of_what_no_output_is",
     kMatrix + "(T2, T3) { T1 = exp(T0) T2 = permute(T1, order=[1, 0]) T3 = reshape(T1, shape=[i0 * i2]) }" + kSizes,
     {"T3", "own"},
     1},
    {"two_permutations_of_what_no_output_is",
     kMatrix +
         "(T2, T3, T4) { T1 = exp(T0) T2 = permute(T1, order=[1, 0]) T3 = broadcast(permute(T1, order=[1, 0]), "
         "flags=[false, true, false]) T4 = select(T1, axis=0, index=2) }" +
         kSizes,
     {"own", "T2", "T2"},
     1},
    {"a_view_that_the_other_outputs_memory_does_not_tell",
     kMatrix +
         "(T2, T3) { T1 = exp(T0) T2 = permute(T1, order=[1, 0]) T3 = reshape(select(broadcast(T1, flags=[true, "
         "false, false]), axis=0, index=0), shape=[i0 * i2]) }" +
         kSizes,
     {"own", "own"},
     1},
    {"parts_of_what_no_output_is",
     kMatrix +
         "(T2, T3) { T1 = exp(T0) T2 = slice(T1, starts=[0, 0], stops=[2, i2]) T3 = slice(T1, starts=[2, 0], "
         "stops=[i0, i2]) }" +
         kSizes,
     {"own", "own"},
     1},
    {"nothing_to_compute",
     kMatrix + "T1 { T1 = exp(slice(T0, starts=[i2, 0], stops=[i0, i2])) } sizes { i0 = 6, i2 = 6 }",
     {"own"},
     0},
    {"a_part_without_elements_joined_to_all",
     kMatrix + "T1 { T1 = cat([slice(T0, starts=[0, 0], stops=[0, i2]), T0], axis=0) }" + kSizes,
     {"T0"}},
    {"set_is_a_copy", kMatrix + "T1 { T1 = set(T0) }" + kSizes, {"own"}, 1},
    {"a_view_of_what_no_output_is",
     kMatrix + "T2 { T1 = exp(T0) T2 = permute(T1, order=[1, 0]) }" + kSizes,
     {"own"},
     1},
    {"a_part_of_a_streamed_output",
     kMatrix + "(T1, T2) { T1 = exp(T0) T2 = slice(T1, starts=[1, 0], stops=[3, i2], steps=[1, 1]) }" + kSizes +
         " schedule { parallelize(T1, axis=0, type=Stream) }",
     {"own", "T1"},
     -1},
    {"a_streamed_permutation",
     kMatrix + "T1 { T1 = permute(T0, order=[1, 0]) }" + kSizes + " schedule { parallelize(T1, axis=0, type=Stream) }",
     {"own"},
     -1},
    {"no_elements",
     kMatrix + "(T1, T2) { T1 = permute(T0, order=[1, 0]) T2 = reshape(T0, shape=[i0 * i2]) }" +
         " sizes { i0 = 0, i2 = 6 }",
     {"T0", "T0"}},
    {"a_part_without_elements",
     kMatrix + "T1 { T1 = slice(T0, starts=[i2, 0], stops=[i0, i2], steps=[1, 1]) } sizes { i0 = 6, i2 = 6 }",
     {"T0"}},
};

class Views : public testing::TestWithParam<ViewCase> {
 protected:
  RunBench bench_;
  std::unique_ptr<Fusion> fusion_ = fusionOf(GetParam().fusion);
  std::vector<RunValue> inputs_ = bench_.inputsOf(*fusion_);

  // By name, an input's or an output's tensor.
  Tensor named(const std::string& name, const std::vector<Tensor>& outputs) const {
    for (size_t i = 0; i < fusion_->inputs().size(); ++i)
      if (nameOf(*asTensor(fusion_->inputs()[i])) == name) return std::get<Tensor>(inputs_[i]);
    for (size_t i = 0; i < outputs.size(); ++i)
      if (nameOf(*fusion_->outputs()[i]) == name) return outputs[i];
    return {};
  }

  void expectMemory(const std::vector<Tensor>& outputs) const {
    for (size_t i = 0; i < outputs.size(); ++i) {
      const std::string& memory = GetParam().memory[i];
      if (memory != "own") {
        EXPECT_TRUE(liesIn(outputs[i], named(memory, outputs))) << "output " << i;
        continue;
      }
      for (const RunValue& input : inputs_) EXPECT_FALSE(liesIn(outputs[i], std::get<Tensor>(input))) << "output " << i;
    }
  }
};

TEST_P(Views, LieWhereTheyAreOfAndAreRight) {
  for (const Mode mode : kModes) {
    SCOPED_TRACE(static_cast<int>(mode));
    MultiDeviceExecutor executor = viewExecutorOf(*fusion_, bench_, mode);
    for (const uint64_t seed : {1, 2}) {
      inputs_ = bench_.inputsOf(*fusion_, {}, seed);
      const std::vector<Tensor> outputs = executor.runWithInput(inputs_);
      EXPECT_EQ(differenceFromOracle(*fusion_, oracleInputsOf(inputs_), outputs), "");
      expectMemory(outputs);
    }
    if (mode == Mode::Plan && GetParam().steps >= 0) {
      EXPECT_EQ(executor.planFor(inputs_).summary().steps, GetParam().steps) << executor.planFor(inputs_).toString();
    }
  }
}

TEST_P(Views, OutliveTheTensorsOfTheCaller) {
  for (const Mode mode : kModes) {
    MultiDeviceExecutor executor = viewExecutorOf(*fusion_, bench_, mode);
    inputs_ = bench_.inputsOf(*fusion_);
    const auto reference = oracleInputsOf(inputs_);
    const std::weak_ptr<Buffer> memory = std::get<Tensor>(inputs_[0]).buffer();
    std::vector<Tensor> outputs = executor.runWithInput(inputs_);
    for (const Tensor& output : outputs) output.waitReady();
    inputs_.clear();
    executor.runWithInput(bench_.inputsOf(*fusion_));  // lets go of what the first call held
    const bool is_view = std::ranges::find(GetParam().memory, "T0") != GetParam().memory.end();
    EXPECT_TRUE(!is_view || !memory.expired());
    EXPECT_EQ(differenceFromOracle(*fusion_, reference, outputs), "");
    // The last view lets go of it.
    outputs.clear();
  }
}

TEST_P(Views, AreCopiedIntoMemoryThatTheCallerGives) {
  const std::vector<Tensor> plain = viewExecutorOf(*fusion_, bench_, Mode::Plan).runWithInput(inputs_);
  const auto reference = oracleInputsOf(inputs_);
  for (const Mode mode : kModes) {
    MultiDeviceExecutor executor = viewExecutorOf(*fusion_, bench_, mode);
    // Each subset of the outputs.
    for (size_t subset = 1; subset < size_t{1} << plain.size(); ++subset) {
      SCOPED_TRACE(subset);
      std::vector<Tensor> given(plain.size());
      for (size_t i = 0; i < plain.size(); ++i) {
        const bool is_expanded = std::ranges::any_of(plain[i].strides(), [](int64_t stride) { return stride == 0; });
        if ((subset >> i & 1U) == 0) continue;
        // Expanded axes are stored in full here.
        std::vector<int64_t> strides(plain[i].sizes().size());
        int64_t next = is_expanded ? 1 : 2;
        for (size_t axis = strides.size(); axis-- > 0; next *= std::max<int64_t>(plain[i].sizes()[axis], 1))
          strides[axis] = next;
        given[i] = bench_.empty(plain[i].dtype(), {plain[i].sizes().begin(), plain[i].sizes().end()}, strides);
      }
      const std::vector<Tensor> outputs = executor.runWithInput(inputs_, given);
      EXPECT_EQ(differenceFromOracle(*fusion_, reference, outputs), "");
      for (size_t i = 0; i < given.size(); ++i) {
        if (given[i].isDefined()) {
          EXPECT_EQ(outputs[i].data(), given[i].data()) << "output " << i;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, Views, testing::ValuesIn(kViewCases),
                         [](const auto& instance) { return instance.param.name; });

TEST(View, OfAnOutputOfTheCallersIsTheCallersToo) {
  RunBench bench;
  const auto fusion = fusionOf(kMatrix + "(T1, T2) { T1 = exp(T0) T2 = permute(T1, order=[1, 0]) }" + kSizes);
  const auto inputs = bench.inputsOf(*fusion);
  for (const Mode mode : kModes) {
    MultiDeviceExecutor executor = viewExecutorOf(*fusion, bench, mode);
    const Tensor given[] = {bench.empty(DataType::F32, {5, 6}, {20, 3}), Tensor()};
    const std::vector<Tensor> outputs = executor.runWithInput(inputs, given);
    EXPECT_EQ(differenceFromOracle(*fusion, oracleInputsOf(inputs), outputs), "");
    EXPECT_EQ(outputs[1].buffer(), given[0].buffer());
    EXPECT_THAT(outputs[1].strides(), testing::ElementsAre(3, 20));
  }
}

TEST(View, OfAnInputThatIsUpdatedIsACopyOfWhatItWas) {
  RunBench bench;
  const auto fusion = fusionOf(
      "fusion f(T0: f32[i0, i2]) -> (T1 aliases T0, T2, T3) { T1 = add(T0, 1.0) T2 = "
      "permute(T0, order=[1, 0]) T3 = permute(T1, order=[1, 0]) }" +
      kSizes);
  for (const Mode mode : kModes) {
    const auto inputs = bench.inputsOf(*fusion);
    const auto reference = oracleInputsOf(inputs);
    const std::vector<Tensor> outputs = viewExecutorOf(*fusion, bench, mode).runWithInput(inputs);
    EXPECT_EQ(differenceFromOracle(*fusion, reference, outputs), "");
    EXPECT_EQ(outputs[0].data(), std::get<Tensor>(inputs[0]).data());
    for (const size_t i : {size_t{1}, size_t{2}}) EXPECT_FALSE(liesIn(outputs[i], outputs[0]));
  }
}

TEST(View, OfAnInputThatIsUpdatedMayBeAProductsOperand) {
  RunBench bench;
  const auto fusion = fusionOf(
      "fusion f(T0: f32[i0, i2]) -> (T2 aliases T0, T4) { T3 = permute(T0, order=[1, 0]) T2 = add(T0, 1.0) T4 = "
      "matmul(T3, exp(T2)) }" +
      kSizes);
  for (const Mode mode : kModes) {
    const auto inputs = bench.inputsOf(*fusion);
    const auto reference = oracleInputsOf(inputs);
    const std::vector<Tensor> outputs = viewExecutorOf(*fusion, bench, mode).runWithInput(inputs);
    EXPECT_EQ(differenceFromOracle(*fusion, reference, outputs), "");
  }
}

TEST(View, OfAStridedInputHasItsStrides) {
  RunBench bench;
  const auto fusion = fusionOf(
      "fusion f(T0: f32[i0, i2] strided) -> (T1, T2, T3, T4) { T1 = permute(T0, order=[1, 0]) T2 = reshape(T0, "
      "shape=[i0, 2, 3]) T3: f32[i2, i0] stride_order(0, 1) = permute(T0, order=[1, 0]) T4 = reshape(T0, shape=[i0 * "
      "i2]) }" +
      kSizes);
  for (const Mode mode : kModes) {
    const std::vector<RunValue> inputs = {bench.random(DataType::F32, {5, 6}, 1, {50, 4})};
    MultiDeviceExecutor executor = viewExecutorOf(*fusion, bench, mode);
    const std::vector<Tensor> outputs = executor.runWithInput(inputs);
    EXPECT_EQ(differenceFromOracle(*fusion, oracleInputsOf(inputs), outputs), "");
    EXPECT_THAT(outputs[0].strides(), testing::ElementsAre(4, 50));
    EXPECT_TRUE(liesIn(outputs[1], std::get<Tensor>(inputs[0])));
    EXPECT_THAT(outputs[1].strides(), testing::ElementsAre(50, 12, 4));
    EXPECT_TRUE(liesIn(outputs[2], std::get<Tensor>(inputs[0])));
    EXPECT_FALSE(liesIn(outputs[3], std::get<Tensor>(inputs[0])));  // nobody promised that its axes run on
    // With other strides the order is another one.
    const std::vector<RunValue> turned = {bench.random(DataType::F32, {5, 6}, 1, {1, 5})};
    const std::vector<Tensor> copied = executor.runWithInput(turned);
    EXPECT_EQ(differenceFromOracle(*fusion, oracleInputsOf(turned), copied), "");
    EXPECT_FALSE(liesIn(copied[2], std::get<Tensor>(turned[0])));
    EXPECT_THAT(copied[2].strides(), testing::ElementsAre(1, 6));
    if (mode == Mode::Plan) {
      EXPECT_THAT(executor.planFor(turned).copiedViews(),
                  testing::ElementsAre("T3 is copied: a view has the strides [5, 1], and another order is required"));
    }
  }
}

TEST(View, AtAPositionThatIsGivenIsAnotherOneForEachPosition) {
  RunBench bench;
  const auto fusion =
      fusionOf("fusion f(T0: f32[i0, i2], row: i64) -> T1 { T1 = select(T0, axis=0, index=row) }" + kSizes);
  for (const Mode mode : kModes) {
    MultiDeviceExecutor executor = viewExecutorOf(*fusion, bench, mode);
    const Tensor in = bench.random(DataType::F32, {5, 6}, 1);
    for (const int64_t row : {3, 0, 3, 4}) {
      const RunValue inputs[] = {in, ScalarValue{row}};
      const Tensor output = executor.runWithInput(inputs).at(0);
      EXPECT_EQ(output.data(), static_cast<std::byte*>(in.data()) + row * 6 * 4);
    }
    const RunValue outside[] = {in, ScalarValue{int64_t{5}}};
    EXPECT_EQ(refusalOf([&] { executor.runWithInput(outside); }),
              "bind: select: axis 0 of T0: f32[i0, i2] has size 5, but element 5 of it is read");
  }
}

TEST(View, OfWhatMayNotBeWrittenMayNotBeWritten) {
  RunBench bench;
  const auto fusion = fusionOf(kMatrix + "T1 { T1 = permute(T0, order=[1, 0]) }" + kSizes);
  DlpackExchange exchange(bench.device);
  for (const bool is_read_only : {false, true}) {
    auto inputs = bench.inputsOf(*fusion);
    if (is_read_only) std::get<Tensor>(inputs[0]).buffer()->forbidWriting();
    const Tensor view = viewExecutorOf(*fusion, bench, Mode::Plan).runWithInput(inputs).at(0);
    dlpack::ManagedVersioned* given = exchange.give(view);
    EXPECT_EQ((given->flags & dlpack::kReadOnly) != 0, is_read_only);
    EXPECT_EQ(given->array.data, std::get<Tensor>(inputs[0]).data());
    EXPECT_THAT(std::span(given->array.strides, 2), testing::ElementsAre(1, 6));
    given->deleter(given);
  }
}

TEST(View, CostsNoMemory) {
  RunBench bench;
  const auto fusion =
      fusionOf(kMatrix + "(T1, T2) { T1 = permute(T0, order=[1, 0]) T2 = reshape(T0, shape=[i2 * i0]) }" + kSizes);
  const auto inputs = bench.inputsOf(*fusion);
  MultiDeviceExecutor executor = viewExecutorOf(*fusion, bench, Mode::Plan);
  EXPECT_EQ(executor.planFor(inputs).summary().peakBytes(), 0);
  const int64_t before = bench.device.memoryStatistics(MemoryKind::Device).bytes_in_use;
  const std::vector<Tensor> outputs = executor.runWithInput(inputs);
  EXPECT_EQ(bench.device.memoryStatistics(MemoryKind::Device).bytes_in_use, before);
}

TEST(View, IsWrittenByKernelsForCallersThatGiveMemoryForAllOutputs) {
  RunBench bench;
  const auto fusion = fusionOf(kMatrix + "(T1, T2) { T1 = exp(T0) T2 = permute(T1, order=[1, 0]) }" + kSizes);
  const auto inputs = bench.inputsOf(*fusion);
  MultiDeviceExecutor executor(*fusion, bench.device,
                               {.lowering = {.output_views = OutputViews::Copy}, .evaluator = {}});
  EXPECT_TRUE(executor.program().views().empty());
  EXPECT_EQ(executor.planFor(inputs).summary().steps, 1);
  EXPECT_EQ(differenceFromOracle(*fusion, oracleInputsOf(inputs), executor.runWithInput(inputs)), "");
}

// 40 outputs, each a view of the one before: found in time that is no power of two of their number.
TEST(View, ChainsOfManyOutputs) {
  RunBench bench;
  std::string outputs, body;
  for (int i = 1; i <= 40; ++i) {
    outputs += (i > 1 ? ", T" : "T") + std::to_string(i);
    body += " T" + std::to_string(i) + " = permute(T" + std::to_string(i - 1) + ", order=[1, 0])";
  }
  const auto fusion = fusionOf(kMatrix + "(" + outputs + ") {" + body + " }" + kSizes);
  const auto inputs = bench.inputsOf(*fusion);
  MultiDeviceExecutor executor = viewExecutorOf(*fusion, bench, Mode::Plan);
  EXPECT_EQ(executor.planFor(inputs).summary().steps, 0);
  EXPECT_EQ(differenceFromOracle(*fusion, oracleInputsOf(inputs), executor.runWithInput(inputs)), "");
}

}  // namespace
}  // namespace tokamak
