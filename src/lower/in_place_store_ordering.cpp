#include "lower/in_place_store_ordering.h"

#include <algorithm>

#include "base/require.h"
#include "kernel/kernel_walk.h"
#include "kernel/rewrite.h"

namespace tokamak {

namespace {

using kir::Statement;
using kir::StatementRef;
using kir::Statements;
using kir::Store;

bool reads(const Statement& statement, const TensorView& input) {
  bool found = false;
  kir::visitStatements({std::make_shared<const Statement>(statement)}, [&](const Statement& each) {
    for (const kir::Value* value : kir::valuesOf(each)) found |= value->tensor == &input;
    const auto* copy = std::get_if<kir::Copy>(&each.node);
    found |= copy != nullptr && copy->from == &input;
  });
  return found;
}

class UpdateOrder {
 public:
  explicit UpdateOrder(const kir::Kernel& kernel) : updates_(kernel.updates), new_values_(kernel) {}

  Statements rewrite(const Statements& statements) {
    Statements result;
    Statements last;
    for (size_t i = 0; i < statements.size(); ++i) {
      const auto* store = std::get_if<Store>(&statements[i]->node);
      const TensorView* input = store == nullptr ? nullptr : inputOf(*store->tensor);
      const auto rest = std::span(statements).subspan(i + 1);
      if (input == nullptr || std::ranges::none_of(rest, [&](const auto& each) { return reads(*each, *input); })) {
        result.push_back(inside(statements[i]));
        continue;
      }
      const kir::VariableRef value = new_values_.named("update", store->tensor->dtype());
      result.push_back(kir::statement(kir::Let{.variable = value, .value = store->value}));
      last.push_back(kir::statement(Store{.tensor = store->tensor, .index = store->index, .value = kir::use(value)}));
    }
    result.insert(result.end(), last.begin(), last.end());
    return result;
  }

 private:
  StatementRef inside(const StatementRef& statement) {
    if (const auto* loop = std::get_if<kir::Loop>(&statement->node)) {
      kir::Loop copy = *loop;
      copy.body = rewrite(loop->body);
      return kir::statement(std::move(copy));
    }
    if (const auto* guard = std::get_if<kir::If>(&statement->node))
      return kir::statement(kir::If{guard->predicate, rewrite(guard->body)});
    return statement;
  }

  const TensorView* inputOf(const TensorView& output) const {
    const auto found = updates_.find(&output);
    return found == updates_.end() ? nullptr : found->second;
  }

  const std::map<const TensorView*, const TensorView*, ById>& updates_;
  kir::NewValues new_values_;
};

// Requires that one body has all loads of the input and stores of the output.
void requireOneBody(const Statements& statements, const TensorView& output, const TensorView& input) {
  const auto isConcerned = [&](const StatementRef& statement) {
    bool writes = false;
    kir::visitStatements({statement}, [&](const Statement& each) { writes |= kir::writtenBy(each) == &output; });
    return writes || reads(*statement, input);
  };
  const auto bodyOf = [](const Statement& statement) -> const Statements* {
    if (const auto* loop = std::get_if<kir::Loop>(&statement.node)) return &loop->body;
    if (const auto* guard = std::get_if<kir::If>(&statement.node)) return &guard->body;
    return nullptr;
  };
  const StatementRef* with_body = nullptr;
  size_t concerned = 0;
  for (const StatementRef& each : statements) {
    if (!isConcerned(each)) continue;
    ++concerned;
    if (bodyOf(*each) != nullptr) with_body = &each;
  }
  if (with_body == nullptr) return;
  TK_CHECK(concerned == 1, "{} is read and updated by {} in bodies of their own", nameOf(input), nameOf(output));
  requireOneBody(*bodyOf(**with_body), output, input);
}

}  // namespace

kir::Kernel inPlaceStoreOrdering(kir::Kernel kernel) {
  if (kernel.updates.empty()) return kernel;
  for (const auto& [output, input] : kernel.updates) requireOneBody(kernel.body, *output, *input);
  UpdateOrder order(kernel);
  kernel.body = order.rewrite(kernel.body);
  return kernel;
}

}  // namespace tokamak
