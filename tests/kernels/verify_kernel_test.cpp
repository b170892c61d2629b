// The kernel verifier: a legal kernel has no violations, and each invariant has mutants that it kills.
#include "kernel/verify_kernel.h"

#include <functional>
#include <set>

#include <gtest/gtest.h>

#include "kernel/parse_kernel.h"
#include "lower/pipeline.h"

namespace tokamak {
namespace {

constexpr std::string_view kLegal = R"(
kernel base(T0: f32[n:8, 8:1], T1: i64[n:1], T7: bool[4:1], n: i64) -> T2: f32[n:8, 8:1] align 16 BIDx in n TIDx in 32 {
  T3: f32[32] shared
  T4: f32[8] local
  for k in 0..8 Unroll {
    T4[k] = 0.0_f32
  }
  T4[0 .. +4] = T0[BIDx * 8 .. +4]
  for k in 0..n {
    let t0: f32 = T0[k * 8]
    T4[0] = add(T4[0], t0)
  }
  reduce sum T4[0 .. +2] over TIDx
  T3[TIDx] = T4[0]
  barrier
  let at: i64 in n = T1[BIDx]
  if TIDx == 0 {
    T2[at * 8] = choose(at < 3, T3[31], f32(at))
  }
}
)";

struct TextMutant {
  std::string_view invariant;
  std::string_view from;
  std::string_view to;
};

constexpr TextMutant kTextMutants[] = {
    {"alignment", "align 16", "align 12"},
    {"alignment", "align 16", "align 0"},
    {"dimensions", "TIDx in 32", "TIDx in 32 TIDx in 2"},
    {"dimensions", "BIDx in n TIDx in 32", "TIDx in 32 BIDx in TIDx"},
    {"dimensions", "TIDx in 32", "TIDx in 32.0"},
    {"dimensions", "BIDx in n", "CIDx in n BIDx in n"},
    {"dimensions", "BIDx in n", "CIDx in 9 BIDx in n"},
    {"symbols-defined", "T3[TIDx] = T4[0]", "T3[k] = T4[0]"},
    {"symbols-defined", "T3[TIDx] = T4[0]", "T3[TIDx] = choose(k < 3, T4[0], T4[1])"},
    {"symbols-defined", "if TIDx == 0 {", "if k == 0 {"},
    {"values-defined", "T3[TIDx] = T4[0]", "T3[TIDx] = t0"},
    {"one-name", "let at: i64 in", "let at: i64 = 0\n  let at: i64 in"},
    {"one-name", "if TIDx == 0 {", "if TIDx == 0 {\n    let at: f32 = T3[0]"},
    {"buffers-defined", "  T4: f32[8] local\n  for k in 0..8 Unroll {", "for k in 0..8 Unroll {\n  T4: f32[8] local\n"},
    {"allocations", "T3: f32[32] shared", "T3: f32[32] shared\n  T3: f32[32] shared"},
    {"allocations", "T3: f32[32] shared", "T3: f32[TIDx] shared"},
    {"inputs-kept", "T3[TIDx] = T4[0]", "T0[TIDx] = T4[0]"},
    {"inputs-kept", "T4[0 .. +4] = T0[BIDx * 8 .. +4]", "T0[BIDx * 8 .. +4] = T4[0 .. +4]"},
    {"index-types", "if TIDx == 0 {", "if TIDx {"},
    {"index-types", "if TIDx == 0 {", "if TIDx == 0 && n {"},
    {"index-types", "if TIDx == 0 {", "if (TIDx == 0) + 1 == 1 {"},
    {"index-types", "if TIDx == 0 {", "if where(n, TIDx, 0) == 0 {"},
    {"index-types", "BIDx in n", "BIDx in n + (n < 3)"},
    {"index-types", "T3[TIDx] = T4[0]", "T3[0.5] = T4[0]"},
    {"index-types", "T3[TIDx] = T4[0]", "T3[TIDx] = T4[0.5]"},
    {"index-types", "choose(at < 3,", "choose(at + 3,"},
    {"value-types", "add(T4[0], t0)", "add(T4[0], i64(t0))"},
    {"value-types", "T3[TIDx] = T4[0]", "T3[TIDx] = f32(T4[0])"},
    {"value-types", "choose(at < 3, T3[31], f32(at))", "choose(at < 3, T3[31], f64(at))"},
    {"value-types", "add(T4[0], t0)", "where(T4[0], T4[1], t0)"},
    {"store-types", "T3[TIDx] = T4[0]", "T3[TIDx] = f16(T4[0])"},
    {"store-types", "let at: i64 in n = T1[BIDx]", "let at: i64 in n = T0[BIDx]"},
    {"store-types", "let at: i64 in n = T1[BIDx]", "let at: i32 in n = i32(T1[BIDx])"},
    {"store-types", "T4[0 .. +4] = T0[BIDx * 8 .. +4]", "T4[0 .. +2] = T1[BIDx * 8 .. +2]"},
    {"loop-types", "0..n {", "0..n TIDx {"},
    {"loop-lengths", "0..n {", "0..n Unroll {"},
    {"loop-lengths", "0..8 Unroll {", "1..8 Vectorize {"},
    {"loop-starts", "0..n {", "0 - n - 4..n {"},
    {"copy-sides", "T4[0 .. +4] = T0[BIDx * 8 .. +4]", "T2[0 .. +4] = T0[BIDx * 8 .. +4]"},
    {"copy-widths", "T4[0 .. +4] = T0[BIDx * 8 .. +4]", "T4[0 .. +3] = T0[BIDx * 8 .. +3]"},
    {"copy-widths", "T4[0 .. +4] = T0[BIDx * 8 .. +4]", "T4[0 .. +8] = T0[BIDx * 8 .. +8]"},
    {"copy-widths", "T4[0 .. +4] = T0[BIDx * 8 .. +4]", "T4[0 .. +0] = T0[BIDx * 8 .. +0]"},
    {"copy-widths", "align 16", "align 8"},
    {"copy-sides", "  barrier", "  async T4[0 .. +4] = T0[BIDx * 8 .. +4]\n  barrier"},
    {"copy-sides", "  barrier", "  async T3[0 .. +4] = T2[BIDx * 8 .. +4]\n  barrier"},
    {"copy-sides", "  barrier", "  async T3[0 .. +4] = T4[0 .. +4]\n  barrier"},
    {"copy-widths", "  barrier", "  T8: bool[4] shared\n  async T8[0 .. +2] = T7[0 .. +2]\n  barrier"},
    {"copy-offsets", "T0[BIDx * 8 .. +4]", "T0[BIDx * 6 .. +4]"},
    {"copy-offsets", "T4[0 .. +4]", "T4[2 .. +4]"},
    {"block-reductions", "over TIDx", "over TIDy"},
    {"block-reductions", "over TIDx", "over BIDx"},
    {"block-reductions", "over TIDx", "over CIDx"},
    {"block-reductions", "over TIDx", "over TIDx, TIDx"},
    {"block-reductions", "reduce sum T4[0 .. +2]", "reduce sum T3[0 .. +2]"},
    {"block-reductions", "reduce sum T4[0 .. +2]", "reduce sum T4[0 .. +0]"},
    {"block-reductions", "  reduce sum", "  T5: bool[1] local\n  reduce sum T5[0] over TIDx\n  reduce sum"},
    {"grid-reductions", "  if TIDx == 0 {", "  reduce blocks over BIDx: sum T4[0] spread () {}\n  if TIDx == 0 {"},
    {"grid-reductions", "f32(at))\n  }", "f32(at))\n  }\n  reduce blocks over TIDx: sum T4[0] spread () {}"},
    {"grid-reductions", "f32(at))\n  }", "f32(at))\n  }\n  reduce blocks over BIDy: sum T4[0] spread () {}"},
    {"grid-reductions", "f32(at))\n  }", "f32(at))\n  }\n  reduce blocks over BIDx, BIDx: sum T4[0] spread () {}"},
    {"grid-reductions", "f32(at))\n  }", "f32(at))\n  }\n  reduce blocks over BIDx: sum T3[0] spread (TIDx) {}"},
    {"grid-reductions", "f32(at))\n  }", "f32(at))\n  }\n  reduce blocks over BIDx: sum T4[0 .. +0] spread (TIDx) {}"},
    {"grid-reductions", "f32(at))\n  }", "f32(at))\n  }\n  reduce blocks over BIDx: sum T4[0] spread (BIDx) {}"},
    {"buffers-defined", "f32(at))\n  }",
     "f32(at))\n    T5: f32[1] local\n  }\n  reduce blocks over BIDx: sum T5[0] spread () {}"},
    {"together", "  barrier", "  if TIDx < 3 {\n    barrier\n  }"},
    {"together", "  reduce sum", "  for j in 0..TIDx {\n  reduce sum T4[0] over TIDx\n  }\n  reduce sum"},
    {"together", "  barrier", "  let b: i64 in n = i64(T4[0])\n  if b < 3 {\n    barrier\n  }"},
    {"together", "  barrier", "  let a: f32 = T4[0]\n  let b: i64 in n = i64(a)\n  if b < 3 {\n    barrier\n  }"},
    {"together", "  barrier", "  for j in 0..TIDx {\n    for l in 0..4 {\n      barrier\n    }\n  }"},
    {"together", "  barrier", "  if TIDx < 3 {\n    T5: f32[4] shared\n  }"},
    {"cluster-together", "  barrier", "  arrive cluster\n  wait cluster"},
    {"cluster-together", "BIDx in n TIDx in 32 {",
     "CIDx in 2 BIDx in n TIDx in 32 {\n  if CIDx < 1 {\n    arrive cluster\n    wait cluster\n  }"},
    {"cluster-together", "BIDx in n TIDx in 32 {\n  T3: f32[32] shared",
     "CIDx in 2 BIDx in n TIDx in 32 {\n  T3: f32[32] shared\n  let s: f32 = T3[0]\n  let b: i64 in n = i64(s)\n"
     "  for j in 0..b {\n    arrive cluster\n    wait cluster\n  }"},
    {"cluster-together", "BIDx in n TIDx in 32 {",
     "CIDx in 2 BIDx in n TIDx in 32 {\n  T6: f32[1] local\n  if CIDx < 1 {\n    reduce sum T6[0] over CIDx\n  }"},
    {"cluster-barriers", "BIDx in n TIDx in 32 {", "CIDx in 2 BIDx in n TIDx in 32 {\n  arrive cluster"},
    {"cluster-barriers", "BIDx in n TIDx in 32 {", "CIDx in 2 BIDx in n TIDx in 32 {\n  wait cluster"},
    {"cluster-barriers", "BIDx in n TIDx in 32 {",
     "CIDx in 2 BIDx in n TIDx in 32 {\n  arrive cluster\n  arrive cluster\n  wait cluster"},
    {"cluster-barriers", "BIDx in n TIDx in 32 {",
     "CIDx in 2 BIDx in n TIDx in 32 {\n  for j in 0..n {\n    arrive cluster\n  }\n  wait cluster"},
    {"cluster-stores", "T3[TIDx] = T4[0]", "T3[TIDx] of block 1 = T4[0]"},
    {"cluster-stores", "T3[TIDx] = T4[0]", "T3[TIDx] of block 0 - 1 = T4[0]"},
    {"cluster-stores", "T4[k] = 0.0_f32", "T4[k] of block 0 = 0.0_f32"},
};

std::string replaced(std::string_view from, std::string_view to) {
  std::string text(kLegal);
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string brokenBy(const kir::Kernel& kernel) {
  const std::vector<Violation> violations = kir::violationsOf(kernel);
  return violations.empty() ? "nothing" : std::string(violations[0].invariant);
}

TEST(VerifyKernel, ALegalKernelHasNoViolations) {
  const kir::Kernel kernel = kir::parseKernel(kLegal, "legal");
  EXPECT_EQ(brokenBy(kernel), "nothing") << kir::violationsOf(kernel)[0].message;
}

// What no text says.
struct BuiltMutant {
  std::string_view invariant;
  std::function<void(kir::Kernel&)> apply;
};

std::vector<BuiltMutant> builtMutants() {
  using kir::Kernel;
  using kir::statement;
  static Fusion other;
  static const kir::Kernel kOtherKernel = kir::parseKernel(kLegal, "other");
  const auto firstLoop = [](Kernel& kernel) -> kir::StatementRef& { return kernel.body[2]; };
  return {
      {"complete", [](Kernel& k) { k.body.push_back(statement(kir::Store{k.tensors[3], nullptr, nullptr})); }},
      {"complete", [](Kernel& k) { k.body.push_back(statement(kir::If{})); }},
      {"complete", [](Kernel& k) { k.body.push_back(statement(kir::Let{})); }},
      {"complete", [](Kernel& k) { k.body.push_back(statement(kir::Copy{k.tensors[3], k.symbols[0]})); }},
      {"complete", [](Kernel& k) { k.body.push_back(statement(kir::BlockReduce{})); }},
      {"complete", [](Kernel& k) { k.body.push_back(statement(kir::Allocate{})); }},
      {"complete", [](Kernel& k) { k.body.push_back(statement(kir::If{other.symbol("p", DataType::Bool), {}})); }},
      {"complete", [](Kernel& k) { k.symbols[0] = other.symbol("n"); }},
      {"complete",
       [](Kernel& k) {
         k.body.push_back(
             statement(kir::Store{k.tensors[3], k.symbols[0], kir::load(*kOtherKernel.tensors[0], k.symbols[0])}));
       }},
      {"global-tensors", [](Kernel& k) { const_cast<TensorView*>(k.tensors[0])->setMemoryType(MemoryType::Shared); }},
      {"global-tensors", [](Kernel& k) { k.strides.begin()->second.pop_back(); }},
      {"global-tensors", [](Kernel& k) { k.tensors.push_back(k.tensors[0]); }},
      {"global-tensors", [](Kernel& k) { const_cast<TensorView*>(k.tensors[0])->setLabel(3); }},
      {"one-index", [=](Kernel& k) { k.body.push_back(firstLoop(k)); }},
      {"one-index", [](Kernel& k) { k.symbols.push_back(k.symbols[0]); }},
      {"one-index",
       [=](Kernel& k) {
         kir::Loop loop = std::get<kir::Loop>(firstLoop(k)->node);
         loop.index = k.fusion->constant(3);
         firstLoop(k) = statement(std::move(loop));
       }},
      {"symbols-defined", [=](Kernel& k) { k.body.push_back(std::get<kir::Loop>(firstLoop(k)->node).body[0]); }},
      {"value-types",
       [](Kernel& k) {
         const kir::ValueRef read = kir::load(*k.tensors[0], k.symbols[0]);
         k.body.push_back(
             statement(kir::Store{k.tensors[3], k.symbols[0], kir::apply(FunctionId::add, DataType::F32, {read})}));
       }},
      {"value-types",
       [](Kernel& k) {
         kir::Value read = *kir::load(*k.tensors[0], k.symbols[0]);
         read.dtype = DataType::I32;
         k.body.push_back(statement(kir::Store{k.tensors[3], k.symbols[0], std::make_shared<const kir::Value>(read)}));
       }},
  };
}

TEST(VerifyKernel, EachInvariantKillsItsMutants) {
  std::set<std::string_view> killed;
  for (const TextMutant& mutant : kTextMutants) {
    const std::string text = replaced(mutant.from, mutant.to);
    EXPECT_EQ(brokenBy(kir::parseKernel(text, "mutant")), mutant.invariant) << text;
    killed.insert(mutant.invariant);
  }
  for (const BuiltMutant& mutant : builtMutants()) {
    kir::Kernel kernel = kir::parseKernel(kLegal, "mutant");
    mutant.apply(kernel);
    EXPECT_EQ(brokenBy(kernel), mutant.invariant);
    killed.insert(mutant.invariant);
  }
  for (const Invariant& invariant : kir::kernelInvariants())
    EXPECT_TRUE(killed.contains(invariant.name)) << invariant.name << " kills no mutant";
}

TEST(VerifyKernel, TheErrorNamesTheInvariant) {
  const kir::Kernel kernel = kir::parseKernel(replaced("over TIDx", "over TIDy"), "mutant");
  try {
    kir::verifyKernel(kernel, ErrorCode::Definition);
    FAIL() << "nothing was raised";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Definition);
    EXPECT_EQ(error.message(),
              "kernel base breaks block-reductions: T4 is combined over TIDy, which neither block nor cluster has");
  }
}

TEST(VerifyKernel, RunsAfterPasses) {
  kir::Kernel kernel = kir::parseKernel(replaced("over TIDx", "over TIDy"), "mutant");
  try {
    runKernelPasses(std::move(kernel), {.verify = KernelPassOptions::Verify::Always});
    FAIL() << "nothing was raised";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Internal);
    EXPECT_NE(std::string(error.what()).find("after pass lower"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace tokamak
