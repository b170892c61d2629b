// Mutants of kernels: every one that changes a result is reported, by the interpreter or by the comparison with the
// reference.
//
// A mutant is a true one when some run of it gives other bits than the kernel, at some size, order of blocks or order
// of threads, or when the interpreter finds something wrong with it. It is reported when the runs that every kernel
// test makes (threads together, blocks in order and shuffled) have a finding or differ from the reference.
#include <algorithm>
#include <iostream>
#include <map>
#include <random>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "define/callables.h"
#include "generator/case_launch.h"
#include "generator/draw_data.h"
#include "generator/draw_program.h"
#include "generator/environment.h"
#include "generator/kernel_case.h"
#include "generator/kernel_mutants.h"
#include "generator/written_kernels.h"
#include "heuristics/schedule_kernel.h"
#include "ir/clone.h"
#include "ir/text/fusion_parser.h"
#include "kernel/parse_kernel.h"

namespace tokamak {
namespace {

using namespace generator;

// A kernel's run at some sizes.
struct Run {
  std::shared_ptr<const Fusion> fusion;
  std::vector<InputData> inputs;
  CaseLaunch launch;
  oracle::Reference reference;
};

struct Subject {
  kir::Kernel kernel;
  std::vector<Run> runs;
};

Run makeRun(const std::shared_ptr<const Fusion>& fusion, const std::vector<InputData>& inputs, CaseLaunch launch) {
  return {fusion, inputs, std::move(launch), oracle::Reference(*fusion, toOracle(inputs))};
}

// --- what is mutated ---

Subject written(const WrittenKernel& source) {
  Subject subject{kir::parseKernel(source.kernel, "written"), {}};
  for (const std::vector<int64_t>& sizes : source.sizes) {
    const std::shared_ptr<Fusion> fusion = parseFusion(source.fusion, "written", {.resolver = &definingResolver()});
    for (Scalar* symbol : fusion->allSymbols()) {
      if (symbol->name() == "i0") fusion->defaultSizes()[symbol] = sizes[0];
      if (symbol->name() == "i2") fusion->defaultSizes()[symbol] = sizes[1];
    }
    const std::vector<InputData> inputs = drawDataFor(*fusion, 1 + subject.runs.size());
    subject.runs.push_back(makeRun(fusion, inputs, CaseLaunch(*fusion, inputs, subject.kernel)));
  }
  return subject;
}

// The program with another size for the symbolic extent of this size.
Program resized(Program program, int64_t from, int64_t to) {
  for (Node& node : program.nodes) {
    for (size_t i = 0; i < node.symbolic.size(); ++i) {
      if (node.symbolic[i] && node.sizes[i] == from) node.sizes[i] = to;
    }
  }
  return program;
}

// Errors: Definition when the program is illegal.
int64_t mostElements(const Program& program) {
  ProgramBuilder builder;
  int64_t most = 0;
  for (const Node& node : program.nodes) {
    builder.add(node);
    int64_t elements = 1;
    for (const int64_t size : builder.sizes(builder.count() - 1)) elements *= size;
    most = std::max(most, elements);
  }
  return most;
}

std::optional<CaseLaunch> launchOf(const Fusion& fusion, const std::vector<InputData>& inputs, const KernelWay& way) {
  const bool gives_input = std::ranges::any_of(fusion.outputs(), [&](TensorView* t) { return fusion.isInput(t); });
  if (gives_input || !canSchedule(*cloneFusion(fusion), way.target)) return std::nullopt;
  try {
    return CaseLaunch(fusion, inputs, way.recipe);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::Schedule) throw;
    return std::nullopt;  // KernelPrograms tells
  }
}

// The kernel of a random program whose results are exact, at its own sizes and others for which it is the same kernel.
std::optional<Subject> random(uint64_t seed, const KernelWay& way) {
  const Program program = drawProgram(seed, {.max_ops = 8, .max_elements = 256});
  if (program.values != Values::Exact && program.values != Values::Positions) return std::nullopt;
  std::shared_ptr<const Fusion> fusion = build(program);
  const std::vector<InputData> inputs = drawData(program, seed);
  std::optional<CaseLaunch> launch = launchOf(*fusion, inputs, way);
  if (!launch) return std::nullopt;
  const std::string text = kir::printKernel(launch->prepared().kernel);
  Subject subject{kir::parseKernel(text, "random"), {}};
  subject.runs.push_back(makeRun(fusion, inputs, std::move(*launch)));
  std::set<int64_t> sizes;
  for (const Node& node : program.nodes) {
    for (size_t i = 0; i < node.symbolic.size(); ++i) {
      if (node.symbolic[i]) sizes.insert(node.sizes[i]);
    }
  }
  for (const int64_t size : sizes) {
    for (const int64_t other : {3, 17, 33}) {
      if (subject.runs.size() >= 4) return subject;
      const Program changed = resized(program, size, other);
      try {
        if (mostElements(changed) > 1024) continue;
        fusion = build(changed);
        const std::vector<InputData> data = drawData(changed, seed);
        std::optional<CaseLaunch> again = launchOf(*fusion, data, way);
        if (again && kir::printKernel(again->prepared().kernel) == text)
          subject.runs.push_back(makeRun(fusion, data, std::move(*again)));
      } catch (const Error& error) {
        // Sizes that are written in the program may not fit any more.
        if (error.code() != ErrorCode::Definition && error.code() != ErrorCode::Bind) throw;
      }
    }
  }
  return subject;
}

// --- judging ---

bool areEqual(const CaseLaunch::Result& a, const CaseLaunch::Result& b) {
  return std::ranges::equal(a.outputs, b.outputs,
                            [](const StoredData& x, const StoredData& y) { return x.bytes == y.bytes; });
}

struct Verdict {
  bool is_found = false;     ///< the interpreter reports something
  bool is_mismatch = false;  ///< a result differs from the reference
  bool is_changed = false;   ///< a result differs from the kernel's, in some order
  bool isReported() const { return is_found || is_mismatch; }
};

Verdict judge(const Subject& subject, const kir::Kernel& mutant) {
  Verdict verdict;
  for (const Run& run : subject.runs) {
    const ScalarBindings bindings = run.launch.bindingsFor(subject.kernel);
    const CaseLaunch::Result expected = run.launch.run(subject.kernel, bindings, {});
    for (const uint64_t seed : {uint64_t{0}, uint64_t{1}}) {
      const CaseLaunch::Result result = run.launch.run(mutant, bindings, {.seed = seed, .most_findings = SIZE_MAX});
      verdict.is_found |= !result.findings.empty();
      verdict.is_mismatch |= compareOutputs(result.outputs, run.reference).has_value();
      verdict.is_changed |= !areEqual(result, expected);
    }
  }
  if (verdict.is_mismatch) return verdict;
  for (const Run& run : subject.runs) {
    const ScalarBindings bindings = run.launch.bindingsFor(subject.kernel);
    const CaseLaunch::Result expected = run.launch.run(subject.kernel, bindings, {});
    for (const ThreadOrder order : {ThreadOrder::Forwards, ThreadOrder::Backwards}) {
      const uint64_t seed = order == ThreadOrder::Forwards ? 0 : 2;
      const CaseLaunch::Result result =
          run.launch.run(mutant, bindings, {.seed = seed, .most_findings = SIZE_MAX, .threads = order});
      verdict.is_changed |= !areEqual(result, expected);
    }
    if (verdict.is_changed) return verdict;
  }
  return verdict;
}

struct Counts {
  int64_t mutants = 0;
  int64_t found = 0;     ///< only by the interpreter; another order of threads or blocks changes a result
  int64_t silent = 0;    ///< only by the interpreter; no order that was tried changes a result
  int64_t mismatch = 0;  ///< only by the comparison
  int64_t both = 0;
  int64_t missed = 0;
  int64_t equivalent = 0;
};

class Table {
 public:
  void add(const KernelMutant& mutant, const Verdict& verdict) {
    for (Counts* counts : {&all_, &kinds_[mutant.kind]}) {
      ++counts->mutants;
      counts->both += verdict.is_found && verdict.is_mismatch ? 1 : 0;
      counts->found += verdict.is_found && !verdict.is_mismatch && verdict.is_changed ? 1 : 0;
      counts->silent += verdict.is_found && !verdict.is_mismatch && !verdict.is_changed ? 1 : 0;
      counts->mismatch += !verdict.is_found && verdict.is_mismatch ? 1 : 0;
      counts->missed += !verdict.isReported() && verdict.is_changed ? 1 : 0;
      counts->equivalent += !verdict.isReported() && !verdict.is_changed ? 1 : 0;
    }
  }
  const Counts& all() const { return all_; }
  bool hasEvery() const { return kinds_.size() == static_cast<size_t>(kKernelMutantKinds); }

  void print() const {
    std::cout << "| mutant | number | both | result only | interpreter, another order changes a result | interpreter "
                 "only | missed | equivalent |\n"
              << "|---|---|---|---|---|---|---|---|\n";
    for (const auto& [kind, counts] : kinds_) row(kernelMutantKindName(kind), counts);
    row("all", all_);
  }

 private:
  static void row(std::string_view name, const Counts& counts) {
    std::cout << fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} |\n", name, counts.mutants, counts.both,
                             counts.mismatch, counts.found, counts.silent, counts.missed, counts.equivalent);
  }

  Counts all_;
  std::map<KernelMutantKind, Counts> kinds_;
};

class Campaign {
 public:
  explicit Campaign(uint64_t seed)
      : random_(seed), lists_equivalent_(fromEnvironment("TOKAMAK_MUTANTS_LIST", 0) != 0) {}

  void checkUnchanged(const Subject& subject) {
    const Verdict verdict = judge(subject, subject.kernel);
    EXPECT_FALSE(verdict.isReported() || verdict.is_changed) << kir::printKernel(subject.kernel);
  }

  // Some mutants, of as many kinds as there are.
  void tryMutants(const Subject& subject, size_t count) {
    std::map<KernelMutantKind, std::vector<KernelMutant>> by_kind;
    for (KernelMutant& mutant : mutantsOf(subject.kernel)) {
      // What orders threads is always taken away in turn.
      if (mutant.kind == KernelMutantKind::DropBarrier || mutant.kind == KernelMutantKind::MoveBarrier ||
          mutant.kind == KernelMutantKind::WaitLess)
        tryMutant(subject, mutant);
      else
        by_kind[mutant.kind].push_back(std::move(mutant));
    }
    for (size_t i = 0; i < count && !by_kind.empty(); ++i) {
      const auto kind = std::next(by_kind.begin(), static_cast<std::ptrdiff_t>(random_() % by_kind.size()));
      const size_t number = random_() % kind->second.size();
      tryMutant(subject, kind->second[number]);
      kind->second.erase(kind->second.begin() + static_cast<std::ptrdiff_t>(number));
      if (kind->second.empty()) by_kind.erase(kind);
    }
  }

  const Table& table() const { return table_; }

 private:
  void tryMutant(const Subject& subject, const KernelMutant& mutant) {
    const Verdict verdict = judge(subject, mutant.kernel);
    table_.add(mutant, verdict);
    const bool is_missed = verdict.is_changed && !verdict.isReported();
    EXPECT_FALSE(is_missed) << kernelMutantKindName(mutant.kind) << "\n"
                            << kir::printKernel(subject.kernel) << kir::printKernel(mutant.kernel);
    if (lists_equivalent_ && !verdict.isReported())
      std::cout << "equivalent: " << kernelMutantKindName(mutant.kind) << "\n"
                << kir::printKernel(subject.kernel) << kir::printKernel(mutant.kernel);
  }

  std::mt19937_64 random_;
  bool lists_equivalent_;
  Table table_;
};

// TOKAMAK_MUTANTS raises the number; TOKAMAK_MUTANTS_LIST=1 prints the equivalent ones.
TEST(KernelMutants, EveryTrueOneIsReported) {
  const auto wanted = static_cast<int64_t>(fromEnvironment("TOKAMAK_MUTANTS", 1000));
  const uint64_t first = fromEnvironment("TOKAMAK_FUZZ_SEED", 1);
  Campaign campaign(first);
  for (const WrittenKernel& source : writtenKernels()) {
    const Subject subject = written(source);
    campaign.checkUnchanged(subject);
    campaign.tryMutants(subject, 30);
  }
  int64_t kernels = 0;
  int64_t resized_runs = 0;
  for (uint64_t seed = first; campaign.table().all().mutants < wanted; ++seed) {
    for (const KernelWay& way : {cpuWay(seed), smallCudaWay(seed)}) {
      const std::optional<Subject> subject = random(seed, way);
      if (!subject) continue;
      ++kernels;
      resized_runs += static_cast<int64_t>(subject->runs.size()) - 1;
      campaign.tryMutants(*subject, 4);
    }
  }
  std::cout << writtenKernels().size() << " written and " << kernels << " random kernels, " << resized_runs
            << " more runs at other sizes\n";
  campaign.table().print();
  EXPECT_EQ(campaign.table().all().missed, 0);
  EXPECT_TRUE(campaign.table().hasEvery());
}

}  // namespace
}  // namespace tokamak
