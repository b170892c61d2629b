#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "compile/lower_fusion.h"
#include "define/structured.h"
#include "host/ir/text/host_printer.h"
#include "program_of.h"

namespace tokamak {
namespace {

std::string goldenText(const std::string& name) {
  std::ifstream file(std::string(TOKAMAK_TEST_DIR) + "/golden/" + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// A chain of Sets over [i0, i2]; the result of Set number i is streamed over axis 0 where streamed[i].
std::unique_ptr<Fusion> chainOfSets(const std::vector<bool>& streamed) {
  auto fusion = std::make_unique<Fusion>("sets");
  TensorView* tensor = inputOf(*fusion, DataType::F32, {fusion->symbol("i0"), fusion->symbol("i2")});
  tensor->setLabel(0);
  for (size_t i = 0; i < streamed.size(); ++i) {
    tensor = set(tensor);
    tensor->setLabel(static_cast<int64_t>(i) + 1);
    if (streamed[i]) tensor->axis(0)->parallelize(ParallelType::Stream);
  }
  fusion->addOutput(tensor);
  return fusion;
}

std::string lowered(const Fusion& fusion, StreamSync sync) {
  const auto program = makeHostProgram(fusion, {.grouping = Grouping::Single});
  lowerStreams(*program, sync);
  return printHostProgram(*program);
}

TEST(StreamLowering, SetsComeOutAsTheGoldensInBothForms) {
  const std::pair<const char*, std::vector<bool>> cases[] = {
      {"single_set", {true}}, {"two_sets", {true, true}}, {"three_sets", {true, false, true}}};
  for (const auto& [name, streamed] : cases) {
    const auto fusion = chainOfSets(streamed);
    EXPECT_EQ(lowered(*fusion, StreamSync::Hoisted), goldenText(std::string(name) + ".hoisted.host_ir"));
    EXPECT_EQ(lowered(*fusion, StreamSync::InLoop), goldenText(std::string(name) + ".in-loop.host_ir"));
  }
}

}  // namespace
}  // namespace tokamak
