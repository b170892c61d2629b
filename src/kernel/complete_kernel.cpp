#include "kernel/complete_kernel.h"

#include <algorithm>
#include <set>

#include "kernel/distinct_names.h"
#include "kernel/rewrite.h"

namespace tokamak::kir {

void collectSymbols(Scalar& scalar, std::set<Scalar*, ById>& into) {
  if (scalar.isSymbol()) into.insert(&scalar);
  for (Scalar* operand : scalar.operands()) collectSymbols(*operand, into);
}

void labelTensors(const Fusion& fusion) {
  int64_t next = 0;
  for (const TensorView* tensor : fusion.allTensors()) next = std::max(next, tensor->label() + 1);
  for (TensorView* tensor : fusion.allTensors()) {
    if (tensor->label() < 0) tensor->setLabel(next++);
  }
}

std::vector<Scalar*> symbolsOf(const Kernel& kernel) {
  std::set<Scalar*, ById> symbols;
  std::set<Scalar*> defined;
  visitScalars(kernel.body, [&](Scalar& scalar) { collectSymbols(scalar, symbols); });
  visitStatements(kernel.body, [&](const Statement& statement) {
    if (const auto* loop = std::get_if<Loop>(&statement.node)) defined.insert(loop->index);
    if (const auto* let = std::get_if<Let>(&statement.node)) defined.insert(let->index);
  });
  for (const LaunchDimension& dimension : kernel.dimensions) {
    defined.insert(dimension.index);
    collectSymbols(*dimension.extent, symbols);
  }
  std::vector<Scalar*> result;
  std::ranges::copy_if(symbols, std::back_inserter(result), [&](Scalar* symbol) { return !defined.contains(symbol); });
  return result;
}

void completeKernel(Kernel& kernel) {
  distinctNames(kernel);
  labelTensors(*kernel.fusion);
  const std::vector<Scalar*> mentioned = symbolsOf(kernel);
  std::erase_if(kernel.symbols,
                [&](Scalar* symbol) { return std::ranges::find(mentioned, symbol) == mentioned.end(); });
}

}  // namespace tokamak::kir
