// What passes over kernels know of the choices in values.
#include <set>

#include <gtest/gtest.h>

#include "ir/fusion.h"
#include "lower/predicate_folding.h"
#include "unit/symbolic/random_scalars.h"

namespace tokamak {
namespace {

// As many nodes as a tree of that depth has, if each operand were another one: 2^60.
TEST(NodesOfScalars, AreVisitedOnceHoweverManyShareThem) {
  Fusion fusion("f");
  Scalar* scalar = fusion.symbol("n");
  constexpr int kDepth = 60;
  for (int i = 0; i < kDepth; ++i) {
    Scalar* operands[] = {scalar, scalar};
    scalar = fusion.rawScalar(ScalarOp::Mul, DataType::I64, operands);
  }
  int64_t visits = 0;
  visitNodesOf(*scalar, [&](Scalar&) { ++visits; });
  EXPECT_EQ(visits, kDepth + 1);
}

void collect(Scalar& scalar, std::vector<Scalar*>& order, std::set<const Scalar*>& seen) {
  if (seen.insert(&scalar).second) order.push_back(&scalar);
  for (Scalar* operand : scalar.operands()) collect(*operand, order, seen);
}

// All of them, in the order in which the text has them first.
TEST(NodesOfScalars, AreVisitedInTheOrderOfTheText) {
  Fusion fusion("f");
  std::mt19937_64 random(1);
  test::RandomScalars scalars(fusion, random);
  for (int64_t i = 0; i < test::caseCount(200); ++i) {
    Scalar* scalar = scalars.truth(5);
    std::vector<Scalar*> wanted;
    std::set<const Scalar*> seen;
    collect(*scalar, wanted, seen);
    std::vector<Scalar*> visited;
    visitNodesOf(*scalar, [&](Scalar& node) { visited.push_back(&node); });
    EXPECT_EQ(visited, wanted) << toString(*scalar);
  }
}

}  // namespace
}  // namespace tokamak
