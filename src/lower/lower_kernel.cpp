#include "lower/lower_kernel.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "analysis/addresses.h"
#include "base/error.h"
#include "kernel/rewrite.h"
#include "lower/loop_nests.h"
#include "lower/statement_builder.h"
#include "lower/tighten_loops.h"

namespace tokamak {

namespace {

// Tensors without a number get those after the largest one, so that each has a name.
void labelTensors(const Fusion& fusion) {
  int64_t next = 0;
  for (const TensorView* tensor : fusion.allTensors()) next = std::max(next, tensor->label() + 1);
  for (TensorView* tensor : fusion.allTensors()) {
    if (tensor->label() < 0) tensor->setLabel(next++);
  }
}

void collectSymbols(Scalar* scalar, std::set<Scalar*, ById>& into) {
  if (scalar->isSymbol()) into.insert(scalar);
  for (Scalar* operand : scalar->operands()) collectSymbols(operand, into);
}

// All symbols but those that loops and launch dimensions define.
std::vector<Scalar*> symbolsOf(const kir::Kernel& kernel) {
  std::set<Scalar*, ById> symbols;
  std::set<Scalar*> defined;
  kir::visitScalars(kernel.body, [&](Scalar& scalar) { collectSymbols(&scalar, symbols); });
  kir::visitStatements(kernel.body, [&](const kir::Statement& statement) {
    if (const auto* loop = std::get_if<kir::Loop>(&statement.node)) defined.insert(loop->index);
  });
  for (const kir::LaunchDimension& dimension : kernel.dimensions) {
    defined.insert(dimension.index);
    collectSymbols(dimension.extent, symbols);
  }
  std::vector<Scalar*> result;
  std::ranges::copy_if(symbols, std::back_inserter(result), [&](Scalar* symbol) { return !defined.contains(symbol); });
  return result;
}

}  // namespace

kir::Kernel lowerKernel(std::shared_ptr<Fusion> fusion, std::string name) {
  kir::Kernel kernel;
  kernel.name = std::move(name);
  for (Val* input : fusion->inputs()) {
    if (TensorView* tensor = asTensor(input)) kernel.tensors.push_back(tensor);
  }
  for (TensorView* output : fusion->outputs()) {
    TK_REQUIRE(!fusion->isInput(output), Unsupported, "a kernel gives its input {} as output", toString(*output));
    kernel.tensors.push_back(output);
  }
  for (const TensorView* tensor : kernel.tensors) const_cast<TensorView*>(tensor)->setMemoryType(MemoryType::Global);
  kernel.strides = globalStrides(*fusion);
  labelTensors(*fusion);
  LoopNests nests(*fusion);
  labelTensors(*fusion);
  kernel.body = StatementBuilder(*fusion, nests, kernel.strides).build();
  kernel.dimensions = nests.dimensions();
  kernel.fusion = std::move(fusion);
  kernel.symbols = symbolsOf(kernel);
  return tightenLoops(std::move(kernel));
}

}  // namespace tokamak
