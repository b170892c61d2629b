#include "compile/interface_names.h"

#include <algorithm>

#include "base/require.h"
#include "ir/text/names.h"

namespace tokamak {

namespace {

void collectSymbols(Scalar& scalar, std::vector<Scalar*>& symbols) {
  if (scalar.isSymbol() && std::ranges::find(symbols, &scalar) == symbols.end()) symbols.push_back(&scalar);
  for (Scalar* operand : scalar.operands()) collectSymbols(*operand, symbols);
}

}  // namespace

std::vector<Scalar*> interfaceSymbols(const Fusion& program) {
  std::vector<Scalar*> symbols;
  for (Val* input : program.inputs()) {
    if (Scalar* scalar = asScalar(input)) collectSymbols(*scalar, symbols);
    const TensorView* tensor = asTensor(input);
    if (tensor == nullptr) continue;
    for (const IterDomain* axis : shapeOf(*tensor)) collectSymbols(*axis->visibleExtent(), symbols);
  }
  return symbols;
}

std::set<std::string> symbolNamesIn(const Fusion& program) {
  std::set<std::string> names;
  for (const Scalar* symbol : program.allSymbols()) {
    if (!symbol->name().empty()) names.insert(symbol->name());
  }
  if (const auto* host = dynamic_cast<const HostIrContainer*>(&program)) names.erase(host->numberOfStreams()->name());
  return names;
}

InterfaceNames interfaceNamesOf(const Fusion& fusion) {
  const FusionNames known(fusion);
  InterfaceNames names{.program = fusion.name()};
  for (const TensorView* input : tensorsOf(fusion.inputs())) names.inputs.push_back(known.nameOf(*input));
  for (const TensorView* output : fusion.outputs()) names.outputs.push_back(known.nameOf(*output));
  return names;
}

std::vector<std::string> symbolNamesOf(const HostIrContainer& program) {
  const FusionNames known(program);
  std::vector<std::string> names;
  for (const Scalar* symbol : interfaceSymbols(program)) names.push_back(known.nameOf(*symbol));
  return names;
}

void giveNames(HostIrContainer& program, const InterfaceNames& names, const std::vector<std::string>& symbol_names) {
  const std::vector<TensorView*> inputs = tensorsOf(program.inputs());
  const std::vector<TensorView*>& outputs = program.outputs();
  const std::vector<Scalar*> symbols = interfaceSymbols(program);
  TK_REQUIRE(inputs.size() == names.inputs.size() && outputs.size() == names.outputs.size() &&
                 symbols.size() == symbol_names.size(),
             HostProgram, "{} has {} inputs, {} symbols and {} outputs, and {}, {} and {} names are given",
             names.program, inputs.size(), symbols.size(), outputs.size(), names.inputs.size(), symbol_names.size(),
             names.outputs.size());
  program.setName(names.program);
  // Outputs first: one that is an input as well is called as the input is.
  for (size_t i = 0; i < outputs.size(); ++i) outputs[i]->setName(names.outputs[i]);
  for (size_t i = 0; i < inputs.size(); ++i) inputs[i]->setName(names.inputs[i]);
  for (size_t i = 0; i < symbols.size(); ++i) symbols[i]->setName(symbol_names[i]);
}

}  // namespace tokamak
