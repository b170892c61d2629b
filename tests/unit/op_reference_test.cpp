// The references of ops: every callable has one, and its example is a program that calls it.
#include <algorithm>

#include <gtest/gtest.h>

#include "define/op_reference.h"
#include "ir/text/fusion_parser.h"

namespace tokamak {
namespace {

TEST(OpReference, EveryCallableHasARowWithAnExampleThatCallsIt) {
  for (const Callable& callable : allCallables()) {
    const OpReference* reference = findReference(callable.name);
    ASSERT_NE(reference, nullptr) << callable.name << ": add a row to src/define/op_reference.cpp";
    const std::string program = exampleProgram(*reference, exampleInputs(*reference));
    EXPECT_NE(program.find(std::string(callable.name) + "("), std::string::npos) << program;
    EXPECT_NO_THROW(parseFusion(program, "example", {.resolver = &definingResolver()})) << program;
  }
}

TEST(OpReference, RowsAreSortedAndOfCallables) {
  for (const auto rows : {structuredReferences(), elementwiseReferences()}) {
    EXPECT_TRUE(std::ranges::is_sorted(rows, {}, &OpReference::name));
    for (const OpReference& row : rows) EXPECT_NE(findCallable(row.name), nullptr) << row.name;
  }
}

}  // namespace
}  // namespace tokamak
