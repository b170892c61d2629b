// The references of ops: every callable has one, and its example is a program that calls it.
#include <algorithm>

#include <gtest/gtest.h>

#include "define/op_reference.h"
#include "ir/fields.h"
#include "ir/text/fusion_parser.h"

namespace tokamak {
namespace {

TEST(OpReference, EveryCallableHasARowWithAnExampleThatCallsIt) {
  for (const Callable& callable : allCallables()) {
    const OpReference* reference = findReference(callable.name);
    ASSERT_NE(reference, nullptr) << callable.name
                                  << ": its header lacks OpInfo::meaning, or src/define/op_reference.cpp a row";
    const std::string program = exampleProgram(*reference, exampleInputs(*reference));
    EXPECT_NE(program.find(std::string(callable.name) + "("), std::string::npos) << program;
    EXPECT_NO_THROW(parseFusion(program, "example", {.resolver = &definingResolver()})) << program;
  }
}

TEST(OpReference, RowsAreSortedAndOfCallables) {
  const auto rows = writtenReferences();
  EXPECT_TRUE(std::ranges::is_sorted(rows, {}, &OpReference::name));
  for (const OpReference& row : rows) EXPECT_NE(findCallable(row.name), nullptr) << row.name;
}

TEST(OpReference, SaysOneThingOnce) {
  for (const OpKind kind : allOpKinds()) {
    const OpInfo& info = opInfo(kind);
    if (info.meaning.empty()) continue;
    EXPECT_EQ(std::ranges::find(writtenReferences(), info.name, &OpReference::name), writtenReferences().end())
        << info.name << ": its header says what src/define/op_reference.cpp says, too";
  }
}

}  // namespace
}  // namespace tokamak
