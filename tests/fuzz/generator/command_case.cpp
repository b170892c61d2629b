#include "generator/command_case.h"

#include <algorithm>
#include <regex>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "generator/case_launch.h"
#include "generator/draw_commands.h"
#include "generator/draw_data.h"
#include "generator/draw_program.h"
#include "generator/kernel_case.h"
#include "heuristics/schedule_kernel.h"
#include "ir/clone.h"
#include "ir/text/fusion_printer.h"

namespace tokamak::generator {

namespace {

// A message without what differs from tensor to tensor.
std::string sentenceOf(const std::string& message) {
  static const std::regex tensor(R"(T\d+(_\w+)*(\[[^\]]*\])?)");
  static const std::regex axis(R"(\b[a-z]*[A-Z]*\d+(\{[^}]*\})?)");
  static const std::regex list(R"(\[[^\]]*\])");
  std::string text = std::regex_replace(message.substr(0, message.find('\n')), tensor, "T");
  text = std::regex_replace(text, list, "L");
  return std::regex_replace(text, axis, "N").substr(0, 60);
}

bool namesTensor(const std::string& message) {
  static const std::regex tensor(R"(\bT\d+)");
  return std::regex_search(message, tensor);
}

bool hasBarrier(const kir::Statements& statements) {
  bool found = false;
  kir::visitStatements(statements, [&](const kir::Statement& statement) {
    found |= std::holds_alternative<kir::Barrier>(statement.node);
  });
  return found;
}

bool hasBarrierInLoop(const kir::Statements& statements) {
  bool found = false;
  kir::visitStatements(statements, [&](const kir::Statement& statement) {
    const auto* loop = std::get_if<kir::Loop>(&statement.node);
    found |= loop != nullptr && hasBarrier(loop->body);
  });
  return found;
}

// One sequence: commands from nothing, or on what the heuristics chose. Gives what is wrong.
class Sequence {
 public:
  Sequence(uint64_t seed, CommandTally& tally)
      : seed_(seed), random_(seed * 0x9e3779b97f4a7c15ULL + 11), tally_(tally) {}

  std::string problem() {
    const Program program = drawProgram(seed_, {.max_ops = 8, .max_elements = 256});
    const std::unique_ptr<Fusion> fusion = build(program);
    target_ = random_.chance(70) ? hopperTarget() : cpuTarget();
    const bool gives_input = std::ranges::any_of(fusion->outputs(), [&](TensorView* t) { return fusion->isInput(t); });
    if (gives_input || !canSchedule(*cloneFusion(*fusion), target_)) return "";
    ++tally_.sequences;
    KernelWay way = target_.kind == TargetKind::Cuda ? smallCudaWay(seed_) : cpuWay(seed_);
    const auto scheduled = way.recipe.schedule;
    const bool starts_scheduled = random_.chance(60);
    way.recipe.schedule = [&](Fusion& shaped, const ScalarBindings& sizes) {
      if (starts_scheduled) scheduled(shaped, sizes);
      giveLabels(shaped);
      begin_ = printFusion(shaped);
      for (int64_t count = random_.between(0, 2); count > 0 && !starts_scheduled; --count) exchange(shaped);
      for (int64_t count = random_.between(1, 10); count > 0; --count) command(shaped, drawCommand(shaped, random_));
    };
    run(*fusion, drawData(program, seed_), way);
    tally_.illegal += is_illegal_ ? 1 : 0;
    if (problem_.empty()) return "";
    return fmt::format("seed {}: {}\n{}\n{}", seed_, problem_, begin_, joined(steps_, "\n"));
  }

 private:
  void exchange(Fusion& fusion) {
    for (const DrawnCommand& drawn : drawExchange(fusion, random_)) {
      if (!command(fusion, drawn)) return;
    }
  }

  // Whether it was legal.
  bool command(Fusion& fusion, const DrawnCommand& drawn) {
    ++tally_.commands;
    steps_.push_back(toString(drawn));
    try {
      applyCommand(fusion, drawn);
      return true;
    } catch (const Error& error) {
      steps_.back() += "  # " + error.message();
      ++tally_.refused_commands;
      refused(error);
      if (!error.message().starts_with(drawn.name)) say("the sentence does not name the step: " + error.message());
      return false;
    }
  }

  void refused(const Error& error) {
    is_illegal_ = true;
    ++tally_.sentences[sentenceOf(error.message())];
    // Outputs lie as their tensors were declared, and a schedule may have given them another layout.
    const bool is_layout = error.code() == ErrorCode::Bind && error.message().find("has stride") != std::string::npos;
    const bool is_typed = error.code() == ErrorCode::Schedule || error.code() == ErrorCode::Unsupported || is_layout;
    if (!is_typed) say(fmt::format("refused with code {}: {}", errorCodeName(error.code()), error.what()));
    if (!namesTensor(error.message())) say("the sentence names no tensor: " + error.message());
  }

  void run(const Fusion& fusion, const std::vector<InputData>& inputs, const KernelWay& way) {
    const char* stage = "prepare";
    try {
      const CaseLaunch launch(fusion, inputs, way.recipe);
      stage = "interpret";
      const PreparedKernel& prepared = launch.prepared();
      const CaseLaunch::Result result = launch.run(prepared.kernel, prepared.bindings, {.seed = seed_});
      ++tally_.kernels;
      tally_.meetings += hasBarrier(prepared.kernel.body) ? 1 : 0;
      tally_.meetings_in_loops += hasBarrierInLoop(prepared.kernel.body) ? 1 : 0;
      if (!result.findings.empty()) return say(result.findings[0] + "\n" + kir::printKernel(prepared.kernel));
      const oracle::Reference reference(fusion, toOracle(inputs));
      const auto wrong = compareOutputs(result.outputs, reference);
      if (wrong) say(wrong->text + "\n" + kir::printKernel(prepared.kernel));
    } catch (const Error& error) {
      if (stage == std::string_view("interpret")) return say(std::string("interpreter: ") + error.what());
      ++tally_.refused_kernels;
      refused(error);
    }
  }

  void say(const std::string& problem) {
    if (problem_.empty()) problem_ = problem;
  }

  uint64_t seed_;
  Random random_;
  CommandTally& tally_;
  KernelTarget target_;
  std::vector<std::string> steps_ = {};
  std::string begin_ = {};
  std::string problem_ = {};
  bool is_illegal_ = false;
};

}  // namespace

std::string findCommandProblem(uint64_t seed, CommandTally& tally) { return Sequence(seed, tally).problem(); }

}  // namespace tokamak::generator
