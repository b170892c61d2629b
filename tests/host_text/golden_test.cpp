// The dumps in tests/golden/ are read and printed back byte for byte.
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "host/ir/host_ir_container.h"
#include "host/ir/text/host_parser.h"
#include "host/ir/text/host_printer.h"

namespace tokamak {
namespace {

std::string readFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

class HostTextGolden : public testing::TestWithParam<const char*> {};

TEST_P(HostTextGolden, PrintsAsItWasRead) {
  const std::string text = readFile(std::string(TOKAMAK_GOLDEN_FOLDER) + "/" + GetParam() + ".host_ir");
  ASSERT_FALSE(text.empty());
  EXPECT_EQ(printHostProgram(*parseHostProgram(text, GetParam())), text);
}

INSTANTIATE_TEST_SUITE_P(All, HostTextGolden,
                         testing::Values("single_set.hoisted", "single_set.in-loop", "two_sets.hoisted",
                                         "two_sets.in-loop", "three_sets.hoisted", "three_sets.in-loop",
                                         "ag_linear.one-loop", "ag_linear.two-loops"),
                         [](const auto& golden) {
                           std::string name = golden.param;
                           for (char& c : name) c = c == '.' || c == '-' ? '_' : c;
                           return name;
                         });

}  // namespace
}  // namespace tokamak
