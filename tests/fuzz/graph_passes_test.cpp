// Random programs through the passes over whole fusions: the meaning stays.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>

#include <gtest/gtest.h>

#include "generator/draw_data.h"
#include "generator/draw_program.h"
#include "generator/environment.h"
#include "graph/fusion_passes.h"
#include "ir/clone.h"
#include "ir/equal.h"
#include "ir/text/fusion_printer.h"
#include "ir/verifier.h"
#include "oracle/evaluate.h"

namespace tokamak {
namespace {

using namespace generator;

bool isSame(const oracle::Element& a, const oracle::Element& b) {
  return a.integer == b.integer && (a.number == b.number || (std::isnan(a.number) && std::isnan(b.number)));
}

// Sums in another order: the same but for what rounding to float64 makes of it. Where large terms cancel that is more
// than a part of the result: the reference's bound, which is that of rounding to f32 or less, knows how much.
std::string differenceBeyondRounding(const Fusion& before, const Fusion& after,
                                     const std::vector<oracle::Input>& inputs) {
  constexpr double kRounding = 1e-9;
  constexpr double kOfBound = 0x1p-20;  // f64 has 29 bits more than f32
  const auto isNear = [](const oracle::Element& a, const oracle::Element& b) {
    const double most = std::max(kRounding * (1 + std::fabs(a.number)), kOfBound * a.bound);
    const bool is_near = std::fabs(a.number - b.number) <= most;
    return isSame(a, b) || (is_near && a.integer == b.integer);
  };
  const oracle::Evaluation want = oracle::evaluate(before, inputs, {.mode = oracle::Mode::exact(), .bindings = {}});
  const oracle::Evaluation have = oracle::evaluate(after, inputs, {.mode = oracle::Mode::exact(), .bindings = {}});
  for (size_t i = 0; i < want.outputs.size(); ++i) {
    if (want.outputs[i].sizes != have.outputs[i].sizes) return "other sizes";
    if (!std::ranges::equal(want.outputs[i].elements, have.outputs[i].elements, isNear))
      return "output " + std::to_string(i) + " differs";
  }
  return "";
}

// The outputs of both on the same data, in float64 and rounded wherever there is a type; nothing that a pass may do
// changes a number.
std::string difference(const Fusion& before, const Fusion& after, const std::vector<oracle::Input>& inputs) {
  for (const oracle::Mode mode : {oracle::Mode::exact(), oracle::Mode::typed()}) {
    const oracle::Evaluation want = oracle::evaluate(before, inputs, {.mode = mode, .bindings = {}});
    const oracle::Evaluation have = oracle::evaluate(after, inputs, {.mode = mode, .bindings = {}});
    for (size_t i = 0; i < want.outputs.size(); ++i) {
      if (want.outputs[i].sizes != have.outputs[i].sizes) return "other sizes";
      if (!std::ranges::equal(want.outputs[i].elements, have.outputs[i].elements, isSame))
        return "output " + std::to_string(i) + " differs" + (mode == oracle::Mode::typed() ? ", rounded" : "");
    }
  }
  return "";
}

// TOKAMAK_FUZZ_PROGRAMS raises the number for longer runs; TOKAMAK_FUZZ_SEED is the first seed.
TEST(GraphPasses, KeepTheMeaningOfRandomPrograms) {
  const uint64_t first = fromEnvironment("TOKAMAK_FUZZ_SEED", 1);
  const uint64_t count = fromEnvironment("TOKAMAK_FUZZ_PROGRAMS", 1000);
  std::map<std::string_view, int> changed;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const Program program = drawProgram(seed, {.max_ops = 12, .max_elements = 256, .repeats = seed % 2 == 0 ? 0 : 40});
    const auto fusion = build(program);
    const std::vector<oracle::Input> inputs = toOracle(drawData(program, seed));
    std::unique_ptr<Fusion> all = cloneFusion(*fusion);
    for (const FusionPass& pass : fusionPasses()) {
      const auto once = pass.run(*fusion);
      const bool keeps_order = pass.name != "two-stage-outer-reduction";
      if (keeps_order) all = pass.run(*all);
      changed[pass.name] += isEqual(*fusion, *once) ? 0 : 1;
      const std::string text =
          std::string(pass.name) + ", seed " + std::to_string(seed) + "\n" + printFusion(*fusion) + printFusion(*once);
      for (const Violation& violation : violationsOf(*once, Stage::Definition)) FAIL() << violation.message << text;
      ASSERT_EQ((keeps_order ? difference : differenceBeyondRounding)(*fusion, *once, inputs), "") << text;
      ASSERT_EQ(firstDifference(*once, *pass.run(*once)), "") << "again: " << text;
    }
    ASSERT_EQ(difference(*fusion, *all, inputs), "")
        << "all, seed " << seed << printFusion(*fusion) << printFusion(*all);
  }
  for (const auto& [name, programs] : changed) {
    std::cout << name << " changed " << programs << " of " << count << " programs\n";
    // Drawn programs have nothing dead and no meshes, and few of them sums over rows beside others.
    const bool may_be_none = name == "remove-dead" || name == "make-reshardings" || name == "propagate-shardings" ||
                             (name == "two-stage-outer-reduction" && count < 1000);
    EXPECT_TRUE(programs > 0 || may_be_none) << name;
  }
}

}  // namespace
}  // namespace tokamak
