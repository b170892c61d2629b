// Messages of statements, segments, plans and the reference, on programs made by hand that no verifier has seen.
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "error_of.h"
#include "host/plan/plan.h"
#include "host/plan/recorder.h"
#include "host/run/statement_runner.h"
#include "ir/all_ops.h"
#include "ir/text/fusion_parser.h"
#include "jit/jit_device.h"
#include "oracle/evaluate.h"

namespace tokamak {
namespace {

using testing::HasSubstr;

class StatementError : public testing::Test {
 protected:
  TensorView* tensor(std::initializer_list<int64_t> sizes, int64_t label) {
    Axes axes;
    for (const int64_t size : sizes) axes.push_back(program_.axis({.extent = program_.constant(size)}));
    TensorView* made = program_.tensor(DataType::F32, std::move(axes));
    made->setLabel(label);
    made->setMemoryType(MemoryType::Global);
    return made;
  }
  template <class Op>
  void add(Op op) {
    program_.pushBack(program_.appendOp(std::move(op)));
  }
  void know(TensorView* tensor, std::vector<int64_t> sizes, std::vector<int64_t> strides) {
    RunTensor value;
    value.sizes = std::move(sizes);
    value.strides = std::move(strides);
    value.address = recorder_.registerBuffer({.bytes = 1024, .name = "known"});
    known_.emplace_back(tensor, value);
  }
  std::string message() {
    RunStreams streams(recorder_, 4);
    StatementRunner runner(program_, recorder_, recorder_.callerStream(), streams, works_);
    for (const auto& [tensor, value] : known_) runner.bind(tensor, value);
    return errorOf([&] { runner.run(); }).message();
  }
  PostOnStream post(const char* text) {
    auto segment = std::make_shared<HostSegment>();
    segment->fusion = parseFusion(text, "unit.fusion");
    PostOnStream statement;
    statement.segment = std::move(segment);
    return statement;
  }

  HostIrContainer program_;
  Recorder recorder_{nullptr};
  WorkCache works_;
  std::vector<std::pair<TensorView*, RunTensor>> known_;
};

TEST_F(StatementError, OfALoopWithoutAStep) {
  Scalar* zero = program_.constant(0);
  add(ForLoop{program_.symbol("i"), zero, program_.constant(4), zero, nullptr, {}});
  EXPECT_EQ(message(), "FOR i: the step is 0; it must be positive");
}

TEST_F(StatementError, OfALoopWithTooManyIterations) {
  Scalar* zero = program_.constant(0);
  Scalar* one = program_.constant(1);
  ForLoop inner{program_.symbol("j"), zero, program_.constant(1000), one, nullptr, {}};
  ForLoop outer{program_.symbol("i"), zero, program_.constant(70), one, nullptr, {}};
  outer.body.exprs.push_back(program_.appendOp(std::move(inner)));
  add(std::move(outer));
  EXPECT_EQ(message(),
            "loop over j: 1000 iterations in each of 70 of the loops around it; at most 65536 in all are legal; split "
            "the axis so that each takes more, or raise the limit (most_iterations, --most-iterations)");
}

TEST_F(StatementError, OfALoopFromOneEndOfTheIntegersToTheOther) {
  Scalar* least = program_.constant(std::numeric_limits<int64_t>::min());
  Scalar* most = program_.constant(std::numeric_limits<int64_t>::max());
  add(ForLoop{program_.symbol("i"), least, most, program_.constant(1), nullptr, {}});
  EXPECT_THAT(message(), HasSubstr("loop over i: 9223372036854775807 iterations; at most 65536"));
}

TEST_F(StatementError, OfAPredicateWithoutAValue) {
  add(IfThenElse{program_.symbol("p", DataType::Bool), {}, {}});
  EXPECT_EQ(message(), "IF: the predicate p is not known");
}

TEST_F(StatementError, OfASelectAlongAReduction) {
  IterDomain* reduced = program_.axis({.kind = IterKind::Reduction, .extent = program_.constant(8)});
  TensorView* in = program_.tensor(DataType::F32, Axes{reduced});
  in->setLabel(0);
  know(in, {}, {});
  add(HirAliasSelect{tensor({}, 1), in, 0, program_.constant(0)});
  EXPECT_EQ(message(), "Select axis 0 of tensor T0: f32[] is a reduction axis; it has no elements to select");
}

TEST_F(StatementError, OfAResultPreallocatedInAnotherSize) {
  TensorView* in = tensor({4}, 0);
  TensorView* out = tensor({4}, 1);
  know(in, {4}, {1});
  know(out, {3}, {1});
  add(LoadStoreOp{out, in});
  EXPECT_THAT(message(), HasSubstr("the preallocated result has sizes [3], but the op gives [4]"));
}

TEST_F(StatementError, OfAKernelThatTheProgramLacks) {
  add(LaunchKernel{.kernel = 3});
  EXPECT_EQ(message(), "LaunchKernel: the program has no Kernel3");
}

TEST_F(StatementError, OfTwoKernelsOfOneNumber) {
  program_.addKernel(3, nullptr);
  EXPECT_EQ(errorOf([&] { program_.addKernel(3, nullptr); }).message(), "there is a Kernel3 already");
}

TEST_F(StatementError, OfUnitsThatDoNotFitTheirPost) {
  add(post("fusion u(T0: f32[4]) -> T1 {\n  T1 = exp(T0)\n}\n"));
  EXPECT_EQ(message(), "HostUnit0: takes 1 inputs and gives 1 outputs, but is posted with 0 and 0");
}

TEST_F(StatementError, OfAUnitWithSomeOutputsPreallocated) {
  PostOnStream statement = post("fusion u(T0: f32[4]) -> (T1, T2) {\n  T1 = exp(T0)\n  T2 = neg(T0)\n}\n");
  TensorView* in = tensor({4}, 0);
  know(in, {4}, {1});
  statement.ins = {in};
  statement.outs = {tensor({4}, 1), tensor({4}, 2)};
  know(statement.outs[0], {4}, {1});
  add(std::move(statement));
  EXPECT_THAT(message(), HasSubstr("outputs must be all or none preallocated in expr"));
}

TEST_F(StatementError, OfAUnitWhoseScalarIsNotKnown) {
  PostOnStream statement = post("fusion u(T0: f32[4], s: f32) -> T1 {\n  T1 = mul(T0, s)\n}\n");
  TensorView* in = tensor({4}, 0);
  know(in, {4}, {1});
  statement.ins = {in, program_.symbol("s", DataType::F32)};
  statement.outs = {tensor({4}, 1)};
  add(std::move(statement));
  EXPECT_THAT(message(), HasSubstr("HostUnit0: the value of its input"));
}

TEST_F(StatementError, OfCommunicationsWithoutACommunicator) {
  TensorView* in = tensor({4}, 0);
  TensorView* out = tensor({4}, 1);
  add(Communication{.out = out, .in = in});
  JitCpuDevice device;
  RunStreams streams(device, 1);
  const std::shared_ptr<Stream> stream = device.createStream();
  StatementRunner runner(program_, device, *stream, streams, works_);
  EXPECT_EQ(errorOf([&] { runner.run(); }).message(), "Communication: there is no communicator here");

  StepList list;
  list.event_count = 1;
  list.steps.resize(1);
  list.steps[0].kind = StepKind::Post;
  list.steps[0].event = 0;
  list.steps[0].text = "T1 = Communication(T0)";
  EXPECT_EQ(errorOf([&] { Plan(device, list, {}); }).message(),
            "plan: T1 = Communication(T0) cannot be replayed without a communicator; run it over ranks (--ranks)");
}

TEST(ReferenceErrors, SizesThatDoNotGoTogether) {
  const auto messageOf = [](const char* text, const std::vector<std::vector<int64_t>>& sizes) {
    const auto fusion = parseFusion(text, "f.fusion");
    std::vector<oracle::Input> inputs;
    for (const auto& size : sizes) inputs.emplace_back(oracle::zeros(DataType::F32, size));
    return errorOf([&] { oracle::evaluate(*fusion, inputs); }).message();
  };
  EXPECT_THAT(
      messageOf("fusion f(T0: f32[a, b], T1: f32[c, d]) -> T2 {\n  T2 = cat([T0, T1], axis=0)\n}\n", {{2, 3}, {2, 4}}),
      HasSubstr("cat: axis 1 of"));
  EXPECT_THAT(messageOf("fusion f(T0: f32[a, b], T1: f32[c, d]) -> T2 {\n  T2 = linear(T0, T1)\n}\n", {{2, 3}, {2, 4}}),
              HasSubstr("linear: the inner sizes of"));
  EXPECT_THAT(messageOf("fusion f(T0: f32[a, b], T1: f32[c, b], T2: f32[d]) -> T3 {\n  T3 = linear(T0, T1, T2)\n}\n",
                        {{2, 3}, {2, 3}, {4}}),
              HasSubstr("linear: the bias"));
  EXPECT_THAT(messageOf("fusion f(T0: f32[a, b, c], T1: f32[d, c, e]) -> T2 {\n  T2 = matmul(T0, T1)\n}\n",
                        {{2, 3, 4}, {3, 4, 5}}),
              HasSubstr("matmul: axis 0 of"));
}

TEST(TensorErrors, BorrowedMemoryNeedsAStridePerAxis) {
  JitCpuDevice device;
  float value = 0;
  EXPECT_THAT(errorOf([&] {
                Tensor::borrow(device, &value, DataType::F32, std::vector<int64_t>{1, 1}, std::vector<int64_t>{1},
                               MemoryKind::Host);
              }).message(),
              HasSubstr("one stride per axis is legal"));
}

}  // namespace
}  // namespace tokamak
