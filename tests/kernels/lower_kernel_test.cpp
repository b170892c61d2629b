// Lowering: kernels as text, illegal schedules, and what the interpreter finds wrong with wrong kernels.
#include <algorithm>
#include <cmath>
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "codegen/source.h"
#include "compile/lower_fusion.h"
#include "define/callables.h"
#include "device/work.h"
#include "heuristics/cpu_schedule.h"
#include "heuristics/cuda_schedule.h"
#include "ir/text/fusion_parser.h"
#include "jit/jit_device.h"
#include "kernel/bind_kernel.h"
#include "kernel/index_type.h"
#include "kernel/interpreter/kernel_interpreter.h"
#include "kernel/parse_kernel.h"
#include "kernels/kernel_case.h"
#include "lower/insert_barriers.h"
#include "lower/lower_kernel.h"
#include "schedule/commands.h"

namespace tokamak {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

// Tensors named in `positions` share so many loops, all others all.
std::shared_ptr<Fusion> inlined(std::string_view text, const std::map<int64_t, int64_t>& positions) {
  std::shared_ptr<Fusion> fusion = parseScheduled(text);
  for (TensorView* tv : fusion->allTensors()) {
    const auto found = positions.find(tv->label());
    tv->mutableDomain().inline_position = found != positions.end() ? found->second : tv->axisCount();
  }
  return fusion;
}

TEST(LowerKernel, ElementwiseOpsBecomeOneLoop) {
  const auto fusion = parseScheduled(R"(
fusion f(T0: bf16[i0, i2], T1: bf16[i2]) -> T4 {
  T2 = broadcast(T1, flags=[true, false])
  T3 = add(T0, T2)
  T4 = cast(T3, dtype=bf16)
})");
  scheduleForCpu(*fusion, {.block_elements = 64});
  EXPECT_EQ(kir::printKernel(lowerKernel(fusion, "k")),
            R"(kernel k(T0: bf16[i0:i2, i2:1], T1: bf16[i2:1], i0: i64, i2: i64) -> T4: bf16[i0:i2, i2:1] )"
            R"(BIDx in ( i0 * ( ceilDiv(i2, 64) ) ) {
  for k in 0..( min(( i2 - ( ( BIDx % ( ceilDiv(i2, 64) ) ) * 64 ) ), 64) ) {
    let t0: bf16 = T0[( ( ( i2 * ( BIDx / ( ceilDiv(i2, 64) ) ) ) + ( ( BIDx % ( ceilDiv(i2, 64) ) ) * 64 ) ) + k )]
    let t5: f32 = f32(t0)
    let t1: bf16 = T1[( ( ( BIDx % ( ceilDiv(i2, 64) ) ) * 64 ) + k )]
    let t6: f32 = f32(t1)
    let t3: f32 = add(t5, t6)
    T4[( ( ( i2 * ( BIDx / ( ceilDiv(i2, 64) ) ) ) + ( ( BIDx % ( ceilDiv(i2, 64) ) ) * 64 ) ) + k )] = bf16(t3)
  }
}
)");
}

TEST(LowerKernel, WhatIsWrittenIntoInputsIsStoredBehindWhatReadsThem) {
  const auto fusion = parseScheduled(R"(
fusion f(T0: f32[i0], T1: f32[i0]) -> (T2 aliases T0, T3 aliases T1) {
  T2 = add(T1, 1.0)
  T3 = mul(T0, 2.0)
})");
  scheduleForCpu(*fusion, {.block_elements = 64});
  const kir::Kernel kernel = lowerKernel(fusion, "k", /*alignment=*/1, {}, UpdateMemory::Inputs);
  EXPECT_EQ(
      kir::printKernel(kernel),
      R"(kernel k(T0: f32[i0:1], T1: f32[i0:1], i0: i64) -> (T2: f32[i0:1] updates T0, T3: f32[i0:1] updates T1) )"
      R"(BIDx in ( ceilDiv(i0, 64) ) {
  for k in 0..( min(( i0 - ( BIDx * 64 ) ), 64) ) {
    let t1: f32 = T1[( ( BIDx * 64 ) + k )]
    let update: f32 = add(t1, 1.0_f32)
    let t0: f32 = T0[( ( BIDx * 64 ) + k )]
    T3[( ( BIDx * 64 ) + k )] = mul(t0, 2.0_f32)
    T2[( ( BIDx * 64 ) + k )] = update
  }
}
)");
  // One pointer for both.
  for (const std::string& source : {kernelSource(kernel, Dialect::C).text, kernelSource(kernel, Dialect::Cuda).text}) {
    EXPECT_THAT(source, HasSubstr("t1 = T3["));
    EXPECT_THAT(source, HasSubstr("t0 = T2["));
    EXPECT_THAT(source, testing::Not(HasSubstr("T0[")));
  }
}

TEST(LowerKernel, ARowIsReducedAndNormalised) {
  const auto fusion = parseScheduled(R"(
fusion f(T0: f32[i0, 8]) -> T3 {
  T1 = sum(T0, axes=[1])
  T2 = broadcast(T1, flags=[false, true])
  T3 = div(T0, T2)
})");
  scheduleForCpu(*fusion, {});
  EXPECT_EQ(kir::printKernel(lowerKernel(fusion, "k")),
            R"(kernel k(T0: f32[i0:8, 8:1], i0: i64) -> T3: f32[i0:8, 8:1] BIDx in i0 {
  T1: f32[1] local
  T1[0] = 0.0_f32
  for k in 0..8 {
    let t0: f32 = T0[( ( BIDx * 8 ) + k )]
    T1[0] = add(T1[0], t0)
  }
  let t1: f32 = T1[0]
  for k_2 in 0..8 {
    let t0_2: f32 = T0[( ( BIDx * 8 ) + k_2 )]
    T3[( ( BIDx * 8 ) + k_2 )] = div(t0_2, t1)
  }
}
)");
}

constexpr std::string_view kTwoOps = R"(
fusion f(T0: f32[i0, i2]) -> T2 {
  T1 = exp(T0)
  T2 = neg(T1)
})";

TEST(LowerKernel, IllegalInliningSaysWhy) {
  const auto lower = [](std::string_view text, const std::map<int64_t, int64_t>& positions) {
    return messageOf(ErrorCode::Schedule, [&] { lowerKernel(inlined(text, positions), "k"); });
  };
  EXPECT_THAT(lower(R"(
fusion f(T0: f32[i0, i2]) -> T2 {
  T1 = sum(T0, axes=[1])
  T2 = neg(T1)
})",
                    {{1, 2}, {2, 0}}),
              HasSubstr("only reductions over at most 64 elements, a constant number, have no loops of their own"));
  EXPECT_THAT(lower(R"(
fusion f(T0: f32[i0, i1, i2]) -> T2 {
  T1 = sum(T0, axes=[1, 2])
  T2 = neg(T1)
})",
                    {{1, 2}, {2, 0}}),
              HasSubstr("T1 inline: its loop 1 has to be one of its reader T2, but it is a reduction"));
  EXPECT_THAT(
      lower(std::string(kTwoOps) + "schedule { parallelize(T1, axis=0, type=BIDx) }", {{1, 1}, {2, 0}}),
      HasSubstr(
          "T1 inline: its loop 0 has to be one of its reader T2, which reads it at k0 there and not at its own BIDx"));
  EXPECT_THAT(
      lower(R"(
fusion f(T0: f32[i0, i2]) -> T2 {
  T1 = exp(T0)
  T2 = slice(T1, starts=[1, 0], stops=[i0, i2], steps=[1, 1])
})",
            {{1, 1}, {2, 0}}),
      HasSubstr("T1 inline: its loop 0 has to be one of its reader T2, which reads it at ( k0 + 1 ) there; legal "
                "are the steps and types of its reader's loops (propagate(T2)), or inline_at at position 0 at "
                "most"));
  EXPECT_THAT(lower(R"(
fusion f(T0: f32[i0, i2]) -> T4 {
  T1 = exp(T0)
  T2 = sum(T1, axes=[0])
  T3 = broadcast(T2, flags=[true, false])
  T4 = add(T1, T3)
})",
                    {{1, 1}, {2, 0}, {4, 0}}),
              HasSubstr("but another reader has another loop there"));
}

TEST(LowerKernel, AThreadsOwnValuesAreNotReadByOthers) {
  const std::string message = messageOf(ErrorCode::Schedule, [] {
    lowerKernel(inlined(R"(
fusion f(T0: f32[64]) -> T2 {
  T1 = exp(T0)
  T2 = slice(T1, starts=[1], stops=[64], steps=[1])
}
schedule {
  parallelize(T1, axis=0, type=TIDx)
  parallelize(T2, axis=0, type=TIDx)
})",
                        {{1, 0}, {2, 0}}),
                "k");
  });
  EXPECT_THAT(
      message,
      HasSubstr("T1: is kept by each thread for itself, but one reads the part of another (at ( threadIdx.x + 1 ))"));
}

TEST(LowerKernel, WhatIsNoKernelIsRefused) {
  EXPECT_THAT(
      messageOf(ErrorCode::Unsupported, [] { lowerKernel(parseScheduled("fusion f(T0: f32[i0]) -> T0 {}"), "k"); }),
      HasSubstr("a kernel gives its input T0"));
  constexpr std::string_view kProduct = R"(
fusion f(T0: f32[i0, i1], T1: f32[i1, i2]) -> T3 {
  T2 = matmul(T0, T1)
  T3 = exp(T2)
})";
  EXPECT_THAT(messageOf(ErrorCode::Schedule, [&] { lowerKernel(inlined(kProduct, {{3, 0}}), "k"); }),
              HasSubstr("a kernel cannot compute sum("));
  EXPECT_THAT(messageOf(ErrorCode::Schedule, [&] { scheduleForCpu(*parseScheduled(kProduct), {}); }),
              HasSubstr("no kernel for the processor: matmul is a library call"));
  EXPECT_THAT(messageOf(ErrorCode::Schedule, [&] { scheduleKernel(*parseScheduled(kProduct), hopperTarget(), {}); }),
              HasSubstr("no kernel: matmul is a library call"));
  const auto other_layout =
      parseScheduled(std::string(kTwoOps) + "schedule { split(T2, axis=1, factor=4) set_allocation_as_loop(T2) }");
  EXPECT_THAT(messageOf(ErrorCode::Unsupported, [&] { lowerKernel(other_layout, "k"); }),
              HasSubstr("by its own axes only; its layout has others"));
}

TEST(LowerKernel, SchedulesThatKernelsCannotFollowAreRefused) {
  const auto refusal = [](const std::string& text) {
    return messageOf(ErrorCode::Schedule, [&] { lowerKernel(parseScheduled(text), "k"); });
  };
  const std::string pointwise = "fusion f(T0: f32[64, 32]) -> T2 {\n  T1 = exp(T0)\n  T2 = neg(T1)\n}\nschedule {\n";
  EXPECT_EQ(
      refusal(pointwise + "parallelize(T2, axis=1, type=DIDx) }"),
      "T2: its loop 1 is marked DIDx, which a kernel cannot run; legal are CIDx, BIDx to BIDz, TIDx to TIDz, Serial, "
      "Unswitch, Unroll and Vectorize");
  // There is one place, for the first thread; T2 has 64 threads that read it.
  EXPECT_THAT(refusal("fusion f(T0: f32[64]) -> T2 {\n  T1 = sum(T0, axes=[0])\n  T2 = sub(T0, T1)\n}\n"
                      "schedule { split(T1, axis=0, factor=64) T3 = rfactor(T1, axes=[1]) parallelize(T3, axis=0, "
                      "type=TIDx) parallelize(T2, axis=0, type=TIDx) }"),
              HasSubstr("is kept by each thread for itself, but one reads the part of another (at 0)"));
  const std::string rows =
      "fusion f(T0: f32[64, 32]) -> T2 {\n  T1 = sum(T0, axes=[1])\n  T2 = neg(T1)\n}\nschedule {\n";
  EXPECT_EQ(refusal(rows + "parallelize(T1, axis=1, type=TIDx) set_memory_type(T1, shared) }"),
            "T1 is combined across threads; legal is local memory, where each thread has its part");
  EXPECT_EQ(
      refusal(rows + "set_memory_type(T1, global) }"),
      "T1 is a reduction, which is kept in global memory only when it is an output of the kernel; legal are local "
      "and shared memory");
  EXPECT_EQ(
      refusal(rows + "parallelize(T1, axis=1, type=BIDx) parallelize(T2, axis=0, type=BIDx) }"),
      "T2 is spread over BIDx, but is computed from a tensor that is combined over it, so that one block is left; "
      "that takes two kernels");
}

// Both parts of an exchange through shared memory under one guard: no barrier fits between.
TEST(InsertBarriers, RefusesGuardedExchanges) {
  const auto fusion = parseScheduled(kTwoOps);
  TensorView* shared =
      fusion->exprs()[0]->output(0)->kind() == ValKind::Tensor ? asTensor(fusion->exprs()[0]->output(0)) : nullptr;
  shared->setMemoryType(MemoryType::Shared);
  Scalar* zero = fusion->constant(0);
  const TensorView* out = fusion->outputs()[0];
  kir::Statements body = {
      kir::statement(kir::Store{shared, zero, kir::number(fusion->constant(1.0, DataType::F32), DataType::F32)}),
      kir::statement(kir::Store{out, zero, kir::load(*shared, zero)})};
  kir::Kernel kernel{
      .name = "k",
      .fusion = fusion,
      .dimensions = {{ParallelType::TIDx, fusion->symbol("t"), fusion->constant(4)}},
      .body = {kir::statement(kir::If{fusion->scalar(ScalarOp::Less, zero, fusion->symbol("n")), body})}};
  EXPECT_THAT(messageOf(ErrorCode::Schedule, [&] { insertBarriers(kernel); }),
              HasSubstr("goes through shared memory inside of a guard"));
  kernel.body = body;
  EXPECT_EQ(insertBarriers(kernel).body.size(), 3U);
}

// Every second vector of 2 is a thread's.
TEST(InsertBarriers, AreNotNeededForPlacesOfOnesOwn) {
  const auto barriersOf = [](const std::string& read) {
    const kir::Kernel kernel = insertBarriers(kir::parseKernel(
        fmt::format(
            "kernel k(T0: f32[32:1]) -> T1: f32[32:1] TIDx in 4 TIDy in 2 {{\n  T2: f32[32] shared\n"
            "  for i in 0..2 {{\n    for j in 0..2 {{\n"
            "      T2[((i * 2 + TIDy) * 4 + TIDx) * 2 + j] = T0[((TIDy * 2 + i) * 4 + TIDx) * 2 + j]\n    }}\n  }}\n"
            "  for i in 0..2 {{\n    for j in 0..2 {{\n"
            "      T1[((TIDy * 2 + i) * 4 + TIDx) * 2 + j] = T2[{}]\n    }}\n  }}\n}}\n",
            read),
        "k"));
    return std::ranges::count_if(kernel.body,
                                 [](const auto& each) { return std::holds_alternative<kir::Barrier>(each->node); });
  };
  EXPECT_EQ(barriersOf("((i * 2 + TIDy) * 4 + TIDx) * 2 + j"), 0);
  EXPECT_EQ(barriersOf("((i * 2 + TIDy) * 4 + TIDx) * 2 + j * 2"), 1);
  EXPECT_EQ(barriersOf("((i * 2 + TIDy) * 4 + (3 - TIDx)) * 2 + j"), 1);
  EXPECT_EQ(barriersOf("((TIDy * 2 + i) * 4 + TIDx) * 2 + j"), 1);
}

// --- blocks that combine ---

constexpr std::string_view kColumns = R"(
fusion f(T0: f32[64, 32]) -> T1 {
  T1 = sum(T0, axes=[0])
}
)";

TEST(GridReduce, TheLastBlockWritesTheResult) {
  const auto fusion = parseScheduled(std::string(kColumns) + R"(schedule {
  split(T1, axis=0, factor=4, inner_split=false)
  parallelize(T1, axis=0, type=BIDy)
  parallelize(T1, axis=2, type=TIDx)
})");
  const kir::Kernel kernel = lowerKernel(fusion, "k");
  const std::string text = kir::printKernel(kernel);
  EXPECT_THAT(text, HasSubstr("reduce blocks over BIDy: sum T"));
  std::vector<float> in(64 * 32, 1.0F);
  std::vector<float> out(32, 0.0F);
  const std::vector<KernelBuffer> buffers = {{in.data(), 64 * 32, true}, {out.data(), 32, false}};
  for (const uint64_t seed : {0U, 1U, 2U}) {
    EXPECT_THAT(interpretKernel(kernel, buffers, {}, {.seed = seed}), IsEmpty());
    EXPECT_EQ(out, std::vector<float>(32, 64.0F));
  }
}

TEST(GridReduce, RefusesWhatTakesTwoKernels) {
  const auto refusal = [](const std::string& text) {
    return messageOf(ErrorCode::Schedule, [&] { lowerKernel(parseScheduled(text), "k"); });
  };
  EXPECT_THAT(
      refusal(R"(
fusion f(T0: f32[64, 32]) -> T4 {
  T1 = sum(T0, axes=[0])
  T2 = broadcast(T1, flags=[true, false])
  T3 = sub(T0, T2)
  T4 = sum(T3, axes=[0])
}
schedule {
  parallelize(T1, axis=0, type=BIDx)
  parallelize(T4, axis=0, type=BIDx)
  inline_at(T3, 2)
  inline_at(T2, 2)
})"),
      HasSubstr("is combined across blocks, and so is a tensor that it is computed from; that takes two kernels"));
  EXPECT_THAT(refusal(R"(
fusion f(T0: f32[64, 32]) -> (T1, T2) {
  T1 = sum(T0, axes=[0])
  T2 = max(T0, axes=[0])
}
schedule {
  parallelize(T1, axis=0, type=BIDx)
  parallelize(T2, axis=0, type=BIDy)
})"),
              HasSubstr("is combined over other blocks than other tensors of the kernel"));
  EXPECT_THAT(refusal(R"(
fusion f(T0: f32[64, i1]) -> T1 {
  T1 = sum(T0, axes=[0])
}
schedule { parallelize(T1, axis=0, type=BIDx) })"),
              HasSubstr("each thread has to hold a constant number of its elements"));
  EXPECT_THAT(refusal(R"(
fusion f(T0: f32[8, 64]) -> T3 {
  T1 = sum(T0, axes=[1])
  T2 = neg(T1)
  T3 = exp(T2)
}
schedule {
  parallelize(T1, axis=1, type=BIDx)
  inline_at(T2, 1)
  inline_at(T1, 1)
})"),
              HasSubstr("is combined across blocks inside of a loop of the block"));
}

TEST(KernelSource, SaysWhatADialectCannotSay) {
  const kir::Kernel row = lowerKernel(inlined(kTwoOps, {{1, 0}, {2, 0}}), "k");
  EXPECT_THAT(messageOf(ErrorCode::Schedule, [&] { kernelSource(row, Dialect::C); }),
              HasSubstr("T1: a buffer of ( i0 * i2 ) elements is too large, or has no size that is known"));
  const kir::Kernel combined = lowerKernel(inlined(R"(
fusion f(T0: f32[i0, 32]) -> T1 {
  T1 = sum(T0, axes=[1])
}
schedule {
  parallelize(T1, axis=0, type=BIDx)
  parallelize(T1, axis=1, type=TIDx)
})",
                                                   {{1, 0}}),
                                           "k");
  EXPECT_THAT(messageOf(ErrorCode::Unsupported, [&] { kernelSource(combined, Dialect::C); }),
              HasSubstr("on the processor a block has one thread"));
}

TEST(KernelWork, NeedsBlocksOfOneThread) {
  const auto fusion =
      parseScheduled(std::string(kTwoOps) +
                     "schedule { split(T2, axis=1, factor=4) parallelize(T2, axis=2, type=TIDx) inline_most() }");
  const auto program = makeHostProgram(*fusion);
  const OperandDesc desc{DataType::F32, {3, 8}, {8, 1}, 64};
  const Expr& expr = *program->topLevel().exprs.at(0);
  const std::vector<OperandDesc> operands = {desc, desc};
  const ScalarBindings none;
  EXPECT_THAT(messageOf(ErrorCode::Unsupported, [&] { JitCpuDevice({.threads = 1}).prepare({expr, operands, none}); }),
              HasSubstr("a kernel for the processor has one thread per block; this schedule has 4"));
}

TEST(BindBuffer, RefusesStridesThatAKernelWasNotCompiledFor) {
  const kir::Kernel kernel = lowerKernel(inlined(kTwoOps, {{2, 0}}), "k");
  ScalarBindings bindings;
  EXPECT_THAT(
      messageOf(ErrorCode::Bind,
                [&] { kir::bindBuffer(kernel, 0, std::vector<int64_t>{3, 4}, std::vector<int64_t>{5, 1}, bindings); }),
      HasSubstr("k: axis 0 of T0: f32[i0, i2] has stride 5, the kernel was compiled for 4"));
}

// --- the interpreter ---

struct Launch {
  std::vector<float> in = std::vector<float>(64, 1.0F);
  std::vector<float> out = std::vector<float>(64, 0.0F);
  std::vector<std::string> of(const kir::Kernel& kernel, int64_t in_elements = 64, bool is_written = true) {
    const std::vector<KernelBuffer> buffers = {{in.data(), in_elements, is_written}, {out.data(), 64, false}};
    return interpretKernel(kernel, buffers, {});
  }
};

constexpr std::string_view kShifted = R"(
fusion f(T0: f32[64]) -> T2 {
  T1 = exp(T0)
  T2 = slice(T1, starts=[1], stops=[64], steps=[1])
})";

// A product of indices that leaves 32 bits for the last of three blocks, and comes back by a remainder.
TEST(Interpreter, SeesIndicesThatLeaveTheirBits) {
  const kir::Kernel kernel = kir::parseKernel(R"(
kernel k(T0: f32[64:1]) -> T1: f32[64:1] align 16 BIDx in 3 TIDx in 32 {
  if ( ( ( ( BIDx * 32 ) + TIDx ) < 64 ) || ( 1 <= ( ( BIDx * 1073741824 ) % 2 ) ) ) {
    T1[( ( BIDx * 32 ) + TIDx )] = T0[( ( BIDx * 32 ) + TIDx )]
  }
})",
                                              "k");
  Launch launch;
  const std::vector<KernelBuffer> buffers = {{launch.in.data(), 64, true}, {launch.out.data(), 64, false}};
  EXPECT_EQ(kir::indexTypeOf(kernel, ScalarBindings{}), DataType::I64);
  EXPECT_THAT(interpretKernel(kernel, buffers, {}), IsEmpty());
  EXPECT_THAT(interpretKernel(kernel, buffers, {}, {.index_bits = 33}), IsEmpty());
  EXPECT_THAT(interpretKernel(kernel, buffers, {}, {.most_findings = 1, .index_bits = 32}),
              Contains(HasSubstr("( blockIdx.x * 1073741824 ) has more than 32 bits, for thread 0 of block 2")));
}

TEST(Interpreter, ACorrectKernelHasNoFindings) {
  Launch run;
  const auto fusion = parseScheduled(kShifted);
  scheduleForCpu(*fusion, {.block_elements = 16});
  EXPECT_THAT(run.of(lowerKernel(fusion, "k")), IsEmpty());
  EXPECT_FLOAT_EQ(run.out[62], std::exp(1.0F));
  EXPECT_EQ(run.out[63], 0.0F);
}

TEST(Interpreter, FindsAccessesOutsideAndUninitialisedReads) {
  const auto fusion = parseScheduled(kShifted);
  scheduleForCpu(*fusion, {.block_elements = 16});
  const kir::Kernel kernel = lowerKernel(fusion, "k");
  EXPECT_THAT(Launch().of(kernel, 63), testing::Contains(HasSubstr("T0[63] is read outside of its 63 elements")));
  EXPECT_THAT(Launch().of(kernel, 64, false), testing::Contains(HasSubstr("uninitialised read")));
}

TEST(Interpreter, FindsRacesInSharedMemory) {
  auto fusion = inlined(std::string(kShifted) + R"(
schedule {
  parallelize(T1, axis=0, type=TIDx)
  parallelize(T2, axis=0, type=TIDx)
  set_memory_type(T1, type=shared)
})",
                        {{1, 0}, {2, 0}});
  kir::Kernel kernel = lowerKernel(fusion, "k");
  EXPECT_THAT(Launch().of(kernel), IsEmpty());
  // Without the barrier between the write and the read it is wrong.
  const auto removed = std::erase_if(
      kernel.body, [](const kir::StatementRef& each) { return std::holds_alternative<kir::Barrier>(each->node); });
  EXPECT_EQ(removed, 1U);
  EXPECT_THAT(Launch().of(kernel), testing::Contains(HasSubstr("race: write by thread")));
}

TEST(Interpreter, FindsBarriersThatSomeThreadsDoNotReach) {
  kir::Kernel kernel = lowerKernel(inlined(R"(
fusion f(T0: f32[64]) -> T1 {
  T1 = exp(T0)
}
schedule { parallelize(T1, axis=0, type=TIDx) })",
                                           {{1, 0}}),
                                   "k");
  Fusion& fusion = *kernel.fusion;
  Scalar* some = fusion.scalar(ScalarOp::Less, kernel.dimensions[0].index, fusion.constant(3));
  kernel.body.push_back(kir::statement(kir::If{some, {kir::statement(kir::Barrier{})}}));
  EXPECT_THAT(Launch().of(kernel), testing::Contains(HasSubstr("a barrier is not reached by thread 3 of block 0")));
}

}  // namespace
}  // namespace tokamak
