// Outputs that update inputs: what an input was is there for all who read it, views and copies that share its memory
// included.
#include <algorithm>
#include <numeric>
#include <random>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "host/sanitized_share.h"
#include "host_run/program_text.h"
#include "host_run/run_bench.h"

namespace tokamak {
namespace {

constexpr Grouping kGroupings[] = {Grouping::Fused, Grouping::Segments, Grouping::Single};

struct UpdateCase {
  std::string name;
  std::string fusion;
  int64_t steps = -1;  ///< of the plan, fused
};

std::ostream& operator<<(std::ostream& out, const UpdateCase& c) { return out << c.name; }

const UpdateCase kUpdateCases[] = {
    {"swap", "(T0: f32[A], T1: f32[A]) -> (T2 aliases T0, T3 aliases T1) { T2 = set(T1) T3 = set(T0) }", 3},
    {"swap_hidden",
     "(T0: f32[A], T1: f32[A]) -> (T2 aliases T0 hidden, T3 aliases T1 hidden, T4) { T2 = set(T1) T3 = set(T0) T4 = "
     "add(T2, T3) }"},
    {"swap_declared_backwards",
     "(T0: f32[A], T1: f32[A]) -> (T3 aliases T1, T2 aliases T0) { T2 = set(T1) T3 = set(T0) }", 3},
    {"swap_through_sets",
     "(T0: f32[A], T1: f32[A]) -> (T4 aliases T0, T5 aliases T1) { T2 = set(T1) T3 = set(T0) T4 = set(T2) T5 = "
     "set(T3) }"},
    {"two_swaps",
     "(T0: f32[A], T1: f32[A], T2: f32[A], T3: f32[A]) -> (T4 aliases T0, T5 aliases T1, T6 aliases T2, T7 aliases T3) "
     "{ T4 = set(T1) T5 = set(T0) T6 = set(T3) T7 = set(T2) }",
     6},
    {"rotation",
     "(T0: f32[A], T1: f32[A], T2: f32[A]) -> (T3 aliases T0, T4 aliases T1, T5 aliases T2) { T3 = set(T1) T4 = "
     "set(T2) T5 = set(T0) }",
     4},
    {"rotation_the_other_way",
     "(T0: f32[A], T1: f32[A], T2: f32[A]) -> (T3 aliases T0, T4 aliases T1, T5 aliases T2) { T3 = set(T2) T4 = "
     "set(T0) T5 = set(T1) }",
     4},
    {"fifo",
     "(T0: f32[A], T1: f32[A], T2: f32[A]) -> (T3 aliases T0, T4 aliases T1, T5 aliases T2) { T3 = add(T2, 1.0) T4 = "
     "set(T0) T5 = set(T1) }",
     4},
    {"fifo_from_its_end",
     "(T0: f32[A], T1: f32[A], T2: f32[A]) -> (T3 aliases T2, T4 aliases T1, T5 aliases T0) { T3 = set(T1) T4 = "
     "set(T0) "
     "T5 = mul(T0, 2.0) }",
     2},
    {"fifo_with_an_input_to_push",
     "(T0: f32[A], T1: f32[A], T2: f32[A]) -> (T3 aliases T1, T4 aliases T2, T5) { T3 = set(T0) T4 = set(T1) T5 = "
     "sub(T2, T4) }"},
    {"permuted_swap",
     "(T0: f32[A, B], T1: f32[B, A]) -> (T2 aliases T0, T3 aliases T1) { T2 = permute(T1, order=[1, 0]) T3 = "
     "permute(T0, order=[1, 0]) }"},
    {"permuted_and_set",
     "(T0: f32[B, B], T1: f32[B, B]) -> (T2 aliases T0, T4 aliases T1) { T2 = set(T1) T3 = permute(T0, order=[1, 0]) "
     "T4 "
     "= set(T3) }"},
    {"sets_of_permutations",
     "(T0: f32[B, B], T1: f32[B, B]) -> (T4 aliases T0, T5 aliases T1) { T2 = permute(T1, order=[1, 0]) T3 = set(T0) "
     "T4 "
     "= set(T2) T5 = set(T3) }"},
    {"transposed_in_place", "(T0: f32[B, B]) -> (T1 aliases T0) { T1 = permute(T0, order=[1, 0]) }"},
    {"swapped_halves",
     "(T0: f32[A]) -> (T3 aliases T0) { T1 = slice(T0, starts=[0], stops=[5], steps=[1]) T2 = slice(T0, starts=[5], "
     "stops=[A], steps=[1]) T3 = cat([T2, T1], axis=0) }"},
    {"sliced_swap",
     "(T0: f32[A], T1: f32[A]) -> (T4 aliases T0, T5 aliases T1) { T2 = slice(T1, starts=[0], stops=[A], steps=[1]) T3 "
     "= slice(T0, starts=[0], stops=[A], steps=[1]) T4 = set(T2) T5 = set(T3) }"},
    {"sliced_fifo",
     "(T0: f32[A, B], T1: f32[B], T2: f32[B]) -> (T3 aliases T1, T4 aliases T2, T6 aliases T0) { T3 = select(T0, "
     "axis=0, index=0) T4 = set(T1) T5 = add(T0, 1.0) T6 = set(T5) }"},
    {"views_that_are_outputs",
     "(T0: f32[B, B], T1: f32[B, B]) -> (T2 aliases T0, T3 aliases T1, T4, T5, T6) { T2 = set(T1) T3 = set(T0) T4 = "
     "permute(T0, order=[1, 0]) T5 = slice(T1, starts=[1, 0], stops=[B, B], steps=[1, 1]) T6 = permute(T2, order=[1, "
     "0]) }"},
    {"copies_that_are_outputs",
     "(T0: f32[A], T1: f32[A]) -> (T2 aliases T0, T3 aliases T1, T4, T5) { T4 = set(T0) T5 = set(T1) T2 = set(T5) T3 = "
     "set(T4) }"},
    {"an_output_that_is_the_input", "(T0: f32[A]) -> (T0, T1 aliases T0) { T1 = add(T0, 1.0) }", 2},
    {"a_view_of_an_output_that_is_the_input",
     "(T0: f32[B, B]) -> (T0, T1 aliases T0, T2) { T1 = add(T0, 1.0) T2 = permute(T0, order=[1, 0]) }"},
    {"an_input_into_another", "(T0: f32[A], T1: f32[A]) -> (T1 aliases T0, T2) { T2 = add(T0, T1) }", 2},
    {"inputs_swapped", "(T0: f32[A], T1: f32[A]) -> (T1 aliases T0, T0 aliases T1) { }", 3},
    {"an_input_into_itself", "(T0: f32[A]) -> (T0 aliases T0, T1) { T1 = add(T0, 1.0) }", 1},
    {"given_twice", "(T0: f32[A]) -> (T1 aliases T0, T1) { T1 = add(T0, 1.0) }", 1},
    {"a_set_of_itself", "(T0: f32[A]) -> (T1 aliases T0, T2) { T1 = set(T0) T2 = mul(T0, 2.0) }"},
    {"a_sum_before",
     "(T0: f32[A, B], T1: f32[A]) -> (T2 aliases T1, T4 aliases T0) { T2 = sum(T0, axes=[1]) T3 = "
     "broadcast(T1, flags=[false, true]) T4 = add(T0, T3) }"},
    {"an_updated_operand", "(T0: f32[A], T1: f32[A]) -> (T2 aliases T0, T3) { T2 = add(T0, T1) T3 = mul(T2, 2.0) }", 1},
    {"read_for_an_output_behind",
     "(T0: f32[A], T1: f32[A]) -> (T3 aliases T0, T4) { T2 = mul(T0, 2.0) T3 = add(T2, T1) T4 = sub(T2, 3.0) }", 1},
    {"adam",
     "(T0: f32[A, B], T1: f32[A, B], T2: f32[A, B], T3: f32[A, B]) -> (T4 aliases T0, T5 aliases T2 hidden, T6 aliases "
     "T3 hidden) { T5 = add(mul(T2, 0.9), mul(T1, 0.1)) T6 = add(mul(T3, 0.99), mul(mul(T1, T1), 0.01)) T4 = sub(T0, "
     "mul(div(T5, add(sqrt(abs(T6)), 0.25)), 0.125)) }",
     1},
    {"halves",
     "(T0: bf16[A, B], T1: f32[A, B], T2: f32[A, B]) -> (T6 aliases T0, T5 aliases T1) { T3 = cast(T0, dtype=f32) T4 = "
     "mul(T2, 0.5) T5 = add(T1, T4) T6 = cast(sub(T3, T5), dtype=bf16) }",
     1},
    {"a_repeated_operand",
     "(T0: f32[A, B], T1: f32[B]) -> (T3 aliases T0, T4) { T2 = broadcast(T1, flags=[true, false]) T3 = add(T0, T2) T4 "
     "= mul(T3, T2) }",
     1},
    {"repeated_itself",
     "(T0: f32[A, B], T1: f32[B]) -> (T3, T4 aliases T1) { T2 = broadcast(T1, flags=[true, false]) T3 = add(T0, T2) T4 "
     "= mul(T1, 2.0) }"},
    {"through_a_reshape",
     "(T0: f32[A, B]) -> (T3 aliases T0) { T1 = reshape(T0, shape=[A * B]) T2 = add(T1, 1.0) T3 = reshape(T2, "
     "shape=[A, B]) }",
     1},
    {"through_a_split_of_an_axis",
     "(T0: f32[A, B], T1: f32[B]) -> (T6 aliases T0, T7) { T2 = reshape(T0, shape=[2, 5, B]) T3 = broadcast(T1, "
     "flags=[true, true, false]) T4 = add(T2, T3) T5 = reshape(T4, shape=[A, B]) T6 = mul(T5, T0) T7 = neg(T6) }",
     1},
    {"through_another_shape_that_repeats",
     "(T0: f32[A, 1]) -> (T3, T4 aliases T0) { T1 = reshape(T0, shape=[1, A]) T3 = add(T0, T1) T4 = "
     "reshape(add(T1, 1.0), shape=[A, 1]) }"},
    {"beside_an_operand_of_another_order",
     "(T0: f32[A, B], T1: f32[A, B] stride_order(0, 1), T2: f32[B]) -> (T5 aliases T0) { T3 = broadcast(T2, "
     "flags=[true, false]) T4 = add(T0, T1) T5 = exp(mul(T4, T3)) }",
     1},
    {"beside_operands_of_other_orders_and_types",
     "(T0: f32[A, B, 3], T1: f16[A, B, 3] stride_order(0, 1, 2), T2: f32[A, B, 3] stride_order(1, 0, 2)) -> (T5 "
     "aliases "
     "T0) { T3 = add(T0, T1) T4 = add(T3, T2) T5 = mul(T4, T0) }",
     1},
    {"read_later_in_the_kernel",
     "(T0: f32[A], T1: f32[A]) -> (T2 aliases T0, T3 aliases T1) { T2 = add(T1, 1.0) T3 = mul(T0, 2.0) }"},
    {"read_elsewhere",
     "(T0: f32[A, B], T1: f32[B]) -> (T2 aliases T0, T4) { T2 = mul(T0, 2.0) T3 = sum(T0, axes=[1], keepdim=true) T4 = "
     "add(T2, T3) }"},
    {"softmax", "(T0: f32[A, B]) -> (T1 aliases T0) { T1 = softmax(T0, axis=1) }"},
    {"strided", "(T0: f32[A, B] strided, T1: f32[A, B]) -> (T2 aliases T0, T3) { T2 = add(T0, T1) T3 = mul(T2, T0) }"},
    {"streamed_kernel",
     "(T0: f32[A, B], T1: f32[A, B]) -> (T2 aliases T0, T3) { T2 = add(T0, T1) T3 = mul(T2, 2.0) } schedule { "
     "parallelize(T2, axis=0, type=Stream) parallelize(T3, axis=0, type=Stream) }"},
    {"streamed_swap",
     "(T0: f32[A, B], T1: f32[A, B]) -> (T2 aliases T0, T3 aliases T1) { T2 = set(T1) T3 = set(T0) } schedule { "
     "parallelize(T2, axis=0, type=Stream) parallelize(T3, axis=0, type=Stream) }"},
    {"streamed_fifo",
     "(T0: f32[A, B], T1: f32[A, B], T2: f32[A, B]) -> (T3 aliases T0, T4 aliases T1, T5 aliases T2) { T3 = add(T2, "
     "1.0) T4 = set(T0) T5 = set(T1) } schedule { parallelize(T3, axis=0, type=Stream) parallelize(T4, axis=0, "
     "type=Stream) parallelize(T5, axis=0, type=Stream) }"},
};

// Runs twice, as a loop over steps does: the second call starts with what the first one left.
void expectUpdates(const Fusion& fusion, RunBench& bench, Grouping grouping, Mode mode) {
  SCOPED_TRACE(fmt::format("grouping {}, mode {}", static_cast<int>(grouping), static_cast<int>(mode)));
  HostLoweringOptions lowering;
  lowering.grouping = grouping;
  MultiDeviceExecutor executor(fusion, bench.device, {.lowering = lowering, .evaluator = {.mode = mode}});
  const std::vector<RunValue> inputs = bench.inputsOf(fusion);
  for (int call = 0; call < 2; ++call) {
    const auto reference = oracleInputsOf(inputs);
    const std::vector<Tensor> outputs = executor.runWithInput(inputs);
    std::vector<Tensor> all;
    auto given = outputs.begin();
    for (TensorView* output : fusion.outputs()) {
      const auto alias = fusion.outputAliases().find(output);
      const bool is_update = alias != fusion.outputAliases().end();
      const auto number =
          is_update ? std::ranges::find(fusion.inputs(), alias->second.target) - fusion.inputs().begin() : 0;
      const Tensor& memory = std::get<Tensor>(inputs[static_cast<size_t>(number)]);
      if (is_update && alias->second.is_hidden) {
        all.push_back(memory);
        continue;
      }
      if (is_update) {
        EXPECT_EQ(given->data(), memory.data()) << nameOf(*output);
      }
      all.push_back(*given++);
    }
    for (const Tensor& output : outputs) output.waitReady();
    ASSERT_EQ(differenceFromOracle(fusion, reference, all), "") << "call " << call;
  }
}

class InputUpdates : public testing::TestWithParam<UpdateCase> {
 protected:
  RunBench bench_;
  std::unique_ptr<Fusion> fusion_ = fusionOf(withSizes("fusion f" + GetParam().fusion));

  static std::string withSizes(std::string text) {
    std::vector<std::string> sizes;
    if (text.find('A') != std::string::npos) sizes.emplace_back("A = 10");
    if (text.find('B') != std::string::npos) sizes.emplace_back("B = 7");
    const size_t at = std::min(text.find(" schedule"), text.size());
    return text.insert(at, fmt::format(" sizes {{ {} }}", joined(sizes)));
  }
};

TEST_P(InputUpdates, AreRightAndCopiedNoMoreThanTheyMust) {
  for (const Grouping grouping : kGroupings) {
    for (const Mode mode : kModes) expectUpdates(*fusion_, bench_, grouping, mode);
  }
  if (GetParam().steps < 0) return;
  MultiDeviceExecutor executor(*fusion_, bench_.device, {});
  const Plan& plan = executor.planFor(bench_.inputsOf(*fusion_));
  EXPECT_EQ(plan.summary().steps, GetParam().steps) << plan.toString();
}

// What was cut into kernels may also run op by op.
TEST_P(InputUpdates, AreRightWhereTheOpsOfKernelsRunOneByOne) {
  HostIrEvaluator evaluator(lowerToHostProgram(*fusion_, {}), bench_.device, {.segments = SegmentMode::OpByOp});
  const std::vector<RunValue> inputs = bench_.inputsOf(*fusion_);
  const auto reference = oracleInputsOf(inputs);
  const std::vector<Tensor> outputs = evaluator.runWithInput(bound(evaluator.program(), inputs));
  EXPECT_EQ(differenceFromOracle(*fusion_, reference, outputs), "");
}

INSTANTIATE_TEST_SUITE_P(Cases, InputUpdates, testing::ValuesIn(kUpdateCases),
                         [](const auto& instance) { return instance.param.name; });

// Statements over square matrices, some of which lie in memory in the other order, whose last results go into inputs at
// random. Half of the programs go element by element, and so are kernels that update what they read.
class RandomUpdates {
 public:
  explicit RandomUpdates(uint64_t seed) : random_(seed) {}

  std::string text() {
    const size_t inputs = 2 + below(3);
    std::string takes;
    for (size_t i = 0; i < inputs; ++i)
      takes += fmt::format("{}T{}: f32[B, B]{}", i == 0 ? "" : ", ", i, below(3) == 0 ? " stride_order(0, 1)" : "");
    const size_t statements = 2 + below(6);
    std::string body;
    for (size_t i = 0; i < statements; ++i) body += fmt::format("T{} = {} ", inputs + i, statement(inputs + i));
    std::vector<size_t> updated(inputs);
    std::iota(updated.begin(), updated.end(), size_t{0});
    std::ranges::shuffle(updated, random_);
    std::string gives;
    for (size_t i = inputs; i < inputs + statements; ++i) {
      const bool is_update = !updated.empty() && below(4) != 0;
      if (!is_update && below(3) != 0 && !(gives.empty() && i + 1 == inputs + statements)) continue;
      const bool is_first = gives.empty();  // it is waited for, so it is not hidden
      gives += fmt::format("{}T{}", is_first ? "" : ", ", i);
      if (!is_update) continue;
      gives += fmt::format(" aliases T{}{}", updated.back(), !is_first && below(4) == 0 ? " hidden" : "");
      updated.pop_back();
    }
    return fmt::format("fusion f({}) -> ({}) {{ {}}} sizes {{ B = {} }}", takes, gives, body, below(2) == 0 ? 5 : 37);
  }

 private:
  size_t below(size_t bound) { return static_cast<size_t>(random_() % bound); }

  std::string statement(size_t number) {
    const size_t a = below(number);
    const size_t b = below(number);
    constexpr size_t elementwise[] = {0, 1, 5, 7};
    switch (is_elementwise_ ? elementwise[below(std::size(elementwise))] : below(11)) {
      case 0: return fmt::format("add(T{}, T{})", a, b);
      case 1: return fmt::format("mul(T{}, 0.5)", a);
      case 2: return fmt::format("permute(T{}, order=[1, 0])", a);
      case 3:
        return fmt::format(
            "cat([slice(T{}, starts=[2, 0], stops=[B, B], steps=[1, 1]), slice(T{}, starts=[0, 0], stops=[2, B], "
            "steps=[1, 1])], axis=0)",
            a, b);
      case 4: return fmt::format("add(T{}, broadcast(sum(T{}, axes=[1]), flags=[false, true]))", a, b);
      case 5:
      case 6: return fmt::format("sub(mul(T{}, 0.25), T{})", a, b);
      case 7: return fmt::format("where(gt(T{}, 0.0), T{}, exp(T{}))", a, b, below(number));
      case 8:
        return fmt::format(
            "reshape(sub(mul(reshape(T{}, shape=[B * B]), 0.5), reshape(T{}, shape=[B * B])), shape=[B, B])", a, b);
      default: return fmt::format("set(T{})", a);
    }
  }

  std::mt19937_64 random_;
  bool is_elementwise_ = below(2) == 0;
};

TEST(InputUpdate, OfRandomPrograms) {
  RunBench bench;
  for (uint64_t seed = 0; seed < 120 / kShare; ++seed) {
    const std::string text = RandomUpdates(seed).text();
    SCOPED_TRACE(text);
    const auto fusion = fusionOf(text);
    for (const Grouping grouping : kGroupings) expectUpdates(*fusion, bench, grouping, Mode::Plan);
    if (testing::Test::HasFailure()) return;
  }
}

// Outputs of one shape and other types or layouts go through the elements in the same way as what is updated.
TEST(InputUpdate, BesideOutputsOfOtherTypesAndLayouts) {
  const auto fusion = fusionOf(R"(
fusion f(T0: f32[i0, 24], T1: bf16[i0, 24]) -> (T4 aliases T0, T5, T6, T7) {
  T2 = cast(T1, dtype=f32)
  T6 = gt(T0, T2)
  T7 = cast(T0, dtype=f64)
  T4 = sub(T0, mul(T2, 0.25))
  T5 = cast(T4, dtype=bf16)
})");
  for (const KernelTarget& target : {cpuTarget(2), hopperTarget()}) {
    RunBench bench({.threads = 2, .poisons_memory = true, .runner = KernelRunner::Interpreted, .target = target});
    MultiDeviceExecutor executor(*fusion, bench.device, {});
    for (const int64_t rows : {1, 8, 37}) {
      for (const std::vector<int64_t>& strides : {std::vector<int64_t>{24, 1}, {30, 1}, {1, rows}, {2 * 24, 2}}) {
        const auto inputs = bench.inputsOf(*fusion, {{"i0", rows}});
        const auto reference = oracleInputsOf(inputs);
        const std::vector<Tensor> given = {Tensor(), bench.empty(DataType::BF16, {rows, 24}, strides),
                                           bench.empty(DataType::Bool, {rows, 24}),
                                           bench.empty(DataType::F64, {rows, 24}, strides)};
        EXPECT_EQ(differenceFromOracle(*fusion, reference, executor.runWithInput(inputs, given)), "") << rows;
        EXPECT_EQ(executor.planFor(inputs).summary().steps, 1);
      }
    }
  }
}

}  // namespace
}  // namespace tokamak
