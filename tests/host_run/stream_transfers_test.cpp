// Stream transfers: random programs whose loops exchange the parts that ranks have, proved and run on ranks.
#include <iostream>
#include <map>
#include <numeric>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "compile/program_on_ranks.h"
#include "compile/rank_proof.h"
#include "host/ir/text/host_parser.h"
#include "host/ir/text/host_printer.h"
#include "host/ir/verifier.h"
#include "host_run/program_text.h"
#include "host_run/run_bench.h"
#include "ir/ops/host/collective_permute.h"
#include "ir/ops/host/for_loop.h"
#include "ir/ops/host/p2p_communication.h"

namespace tokamak {
namespace {

constexpr int64_t kTransferRanks = 12;
constexpr int64_t kTransferCases = 400;

enum class LoopForm : uint8_t { Gather, ReduceScatter, Both, AllToAll };
constexpr std::string_view kLoopForms[] = {"gather", "reduce-scatter", "both", "all-to-all"};

class TransferProgram {
 public:
  TransferProgram(std::mt19937_64& random, LoopForm form) : random_(random), form_(form) {}

  std::string text() {
    drawMesh();
    rows_ = number(2, 3 * devices_ + 1);  // (an axis of one index has no parts)
    has_indices_ = rows_ == devices_ && number(0, 1) == 0;
    switch (form_) {
      case LoopForm::Gather: return gather();
      case LoopForm::ReduceScatter: return reduceScatter();
      case LoopForm::Both: return both();
      case LoopForm::AllToAll: return allToAll();
    }
    return "";
  }

 private:
  int64_t number(int64_t from, int64_t to) { return std::uniform_int_distribution<int64_t>(from, to)(random_); }

  void drawMesh() {
    const int64_t first = number(0, 2);
    const int64_t step = number(1, 2);
    const int64_t count = number(1, 5);
    const int64_t other = step == 1 && count < 4 ? number(1, 3) : 1;
    is_last_ = number(0, 1) == 0;
    devices_ = count;
    std::vector<std::string> rows;
    const int64_t width = is_last_ ? count : other;
    for (int64_t i = 0; i < count * other / width; ++i) {
      std::vector<int64_t> row;
      for (int64_t k = 0; k < width; ++k) row.push_back(first + (i * width + k) * step);
      rows.push_back(fmt::format("({})", joined(row)));
    }
    const bool is_line = other == 1;
    if (is_line) is_last_ = true;
    std::vector<int64_t> line;
    for (int64_t k = 0; k < count; ++k) line.push_back(first + k * step);
    mesh_ = is_line ? fmt::format("mesh({})", joined(line)) : fmt::format("mesh({})", joined(rows));
  }

  std::string device(const std::string& name, int64_t axis, bool has_indices) {
    return mark(name, axis, has_indices, is_last_ ? "DIDx" : "DIDy");
  }
  std::string device(const std::string& name, int64_t axis) { return device(name, axis, has_indices_); }
  std::string stream(const std::string& name, int64_t axis) { return mark(name, axis, has_indices_, "Stream"); }
  std::string mark(const std::string& name, int64_t axis, bool has_indices, const std::string& type) const {
    const std::string split =
        has_indices ? "" : fmt::format("  split({}, axis={}, factor={}, inner_split=false)\n", name, axis, devices_);
    return split + fmt::format("  parallelize({}, axis={}, type={})\n", name, axis, type);
  }

  std::string tensor(const std::string& name, const std::vector<int64_t>& sizes) const {
    return fmt::format("{}: f32[{}] {}", name, joined(sizes), mesh_);
  }
  std::string partial() const { return is_last_ ? " partial(sum, DIDx)" : " partial(sum, DIDy)"; }

  std::string gather() {
    return fmt::format("fusion f({}, {}) -> y {{\n  {} = set(x)\n  {} = matmul(g, w)\n}}\nschedule {{\n{}{}{}}}\n",
                       tensor("x", {rows_, 4}), tensor("w", {4, 3}), tensor("g", {rows_, 4}), tensor("y", {rows_, 3}),
                       device("x", 0), stream("g", 0), stream("y", 0));
  }

  std::string reduceScatter() {
    const int64_t depth = 2 * devices_;
    return fmt::format("fusion f({}, {}) -> z {{\n  {}{} = matmul(x, w)\n  {} = set(t)\n}}\nschedule {{\n{}{}{}{}}}\n",
                       tensor("x", {rows_, depth}), tensor("w", {depth, 3}), tensor("t", {rows_, 3}), partial(),
                       tensor("z", {rows_, 3}), device("x", 1, false), device("w", 0, false), stream("t", 0),
                       device("z", 0));
  }

  std::string both() {
    const int64_t depth = 2 * devices_;
    const int64_t hidden = has_indices_ ? 1 : 2;
    return fmt::format(
        "fusion f({}, {}, {}) -> z {{\n  {} = set(x)\n  {} = linear(g, a)\n  {} = relu(h)\n  {}{} = linear(r, b)\n"
        "  {} = set(t)\n}}\nschedule {{\n{}{}{}{}{}{}{}{}{}{}}}\n",
        tensor("x", {rows_, 4}), tensor("a", {depth, 4}), tensor("b", {3, depth}), tensor("g", {rows_, 4}),
        tensor("h", {rows_, depth}), tensor("r", {rows_, depth}), tensor("t", {rows_, 3}), partial(),
        tensor("z", {rows_, 3}), device("x", 0), device("a", 0, false), device("b", 1, false), stream("g", 0),
        stream("h", 0), device("h", hidden, false), stream("r", 0), device("r", hidden, false), stream("t", 0),
        device("z", 0));
  }

  std::string allToAll() {
    return fmt::format(
        "fusion f({}, {}) -> y {{\n  {} = matmul(x, w)\n  {} = set(t)\n  {} = sum(z, axes=[0])\n}}\n"
        "schedule {{\n{}{}{}{}{}{}}}\n",
        tensor("x", {devices_, rows_, 2}), tensor("w", {devices_, 2, 3}), tensor("t", {devices_, rows_, 3}),
        tensor("z", {devices_, rows_, 3}), tensor("y", {rows_, 3}), device("x", 0, true), device("w", 0, true),
        device("t", 0, true), stream("t", 1), device("z", 1), device("y", 1));
  }

  std::mt19937_64& random_;
  LoopForm form_;
  std::string mesh_;
  bool is_last_ = true;  // the dimension over which parts are dealt out
  int64_t devices_ = 1;
  int64_t rows_ = 1;
  bool has_indices_ = false;  // rows are marked themselves
};

bool transfersInLoops(const HostIrContainer& program) {
  bool is_any = false;
  for (const Expr* expr : program.topLevel().exprs) {
    if (const auto* loop = expr->as<ForLoop>())
      forEachStatement(loop->body, [&](const Expr& inner) {
        is_any |= inner.is<P2pCommunication>() || inner.is<CollectivePermute>();
      });
  }
  return is_any;
}

TEST(StreamTransfers, GiveWhatTheOracleSaysInEachFormOfALoop) {
  constexpr StreamTransfers kTransfers[] = {StreamTransfers::Direct, StreamTransfers::Permute, StreamTransfers::Ring};
  std::mt19937_64 random(20240811);
  const auto number = [&](int64_t from, int64_t to) {
    return std::uniform_int_distribution<int64_t>(from, to)(random);
  };
  RunBench bench;
  std::map<std::string_view, int64_t> in_loops;
  int64_t failures = 0;
  for (int64_t i = 0; i < kTransferCases && failures < 5; ++i) {
    const auto form = static_cast<size_t>(i % std::ssize(kLoopForms));
    const StreamTransfers transfers = kTransfers[number(0, 2)];
    const std::string text = TransferProgram(random, static_cast<LoopForm>(form)).text();
    SCOPED_TRACE(fmt::format("transfers {}\n{}", static_cast<int>(transfers), text));
    try {
      const auto fusion = fusionOf(text);
      ProgramOnRanks program(*fusion, {.ranks = kTransferRanks,
                                       .lowering = {.grouping = number(0, 1) == 0 ? Grouping::Fused : Grouping::Single,
                                                    .stream_transfers = transfers},
                                       .run = {.number_of_streams = number(1, 4), .checks_plans = true},
                                       .device = {.threads = 1, .poisons_memory = true}});
      verifyHostProgram(program.program());
      const std::string printed = printHostProgram(program.program());
      const auto parsed = parseHostProgram(printed, "lowered.host_ir");
      EXPECT_EQ(printHostProgram(*parsed), printed);
      for (const auto by : {RankProofOptions::By::Classes, RankProofOptions::By::EachRank}) {
        const RankProof proof = proveRanks(*parsed, {}, {.ranks = kTransferRanks, .by = by});
        for (const RankFinding& finding : proof.findings) ADD_FAILURE() << finding.message;
        failures += proof.findings.empty() ? 0 : 1;
      }
      if (transfersInLoops(program.program())) ++in_loops[kLoopForms[form]];
      const std::vector<RunValue> inputs = bench.inputsOf(*fusion, {}, static_cast<uint64_t>(i));
      const std::vector<oracle::Input> expected = oracleInputsOf(inputs);
      const std::string difference =
          differenceFromOracle(*fusion, expected, program.run(inputs, {}, bench.device, bench.stream));
      EXPECT_EQ(difference, "");
      failures += difference.empty() ? 0 : 1;
    } catch (const Error& error) {
      ++failures;
      ADD_FAILURE() << errorCodeName(error.code()) << ": " << error.message();
    }
  }
  for (const std::string_view form : kLoopForms) {
    std::cout << form << " in loops " << in_loops[form] << "\n";
    EXPECT_GE(in_loops[form], kTransferCases / 20) << form;
  }
}

}  // namespace
}  // namespace tokamak
