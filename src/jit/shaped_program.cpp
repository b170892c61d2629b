#include "jit/shaped_program.h"

#include <algorithm>

#include <fmt/format.h>

#include "ir/clone.h"
#include "schedule/redo_steps.h"

namespace tokamak {

namespace {

void setLayout(TensorView& tensor, const LayoutChoice& choice) {
  TensorDomain& domain = tensor.mutableDomain();
  const Axes shape = shapeOf(tensor);
  domain.allocation.clear();
  for (const size_t i : choice.order) domain.allocation.push_back(shape[i]);
  const Axes& layout = domain.allocation.empty() ? domain.logical : domain.allocation;
  std::vector<std::optional<bool>> contiguity(layout.size());
  for (size_t k = 0; k < layout.size(); ++k) {
    if (layout[k]->isReduction() || layout[k]->isBroadcast()) continue;
    contiguity[k] = choice.is_dense[static_cast<size_t>(std::ranges::find(shape, layout[k]) - shape.begin())];
  }
  domain.contiguity = std::move(contiguity);
}

// The caller's memory holds every element of an expanded axis: then it is an ordinary one, and so are the loops that a
// schedule made of it.
void storeInFull(Fusion& fusion, TensorView& output, const LayoutChoice& choice) {
  const Axes shape = shapeOf(output);
  AxisCopies full;
  for (size_t i = 0; i < choice.is_stored.size(); ++i) {
    if (choice.is_stored[i]) full[shape[i]] = fusion.axis({.extent = shape[i]->visibleExtent()});
  }
  if (!full.empty()) exchangeAxes(output, std::move(full));
}

}  // namespace

ShapedProgram shapeProgram(const Fusion& program, const ShapeChooser& chooser, const KernelShape& shape) {
  ShapedProgram shaped;
  shaped.fusion = std::make_shared<Fusion>(program.name());
  Fusion& fusion = *shaped.fusion;
  Cloner cloner(fusion);
  std::vector<ShapedProgram::Symbol> parts;
  for (size_t i = 0; i < shape.extents.size(); ++i) {
    const ExtentChoice& extent = shape.extents[i];
    Scalar* symbol = chooser.symbols()[i];
    if (extent.form == ExtentChoice::Form::Constant) cloner.substitute(symbol, fusion.constant(extent.value));
    if (extent.form != ExtentChoice::Form::Multiple) continue;
    Scalar* part = fusion.symbol(fmt::format("{}_{}", symbol->name(), extent.value));
    cloner.substitute(symbol, fusion.mul(part, fusion.constant(extent.value)));
    shaped.symbols.push_back({i, part, extent.value});
  }
  cloneInto(program, cloner);
  shaped.tensors = tensorsOf(fusion.inputs());
  const size_t inputs = shaped.tensors.size();
  shaped.tensors.insert(shaped.tensors.end(), fusion.outputs().begin(), fusion.outputs().end());
  if (!chooser.isScheduled()) {
    for (TensorView* tensor : fusion.allTensors()) fusion.clearLoops(*tensor);
  }
  for (size_t i = inputs; i < shaped.tensors.size(); ++i) storeInFull(fusion, *shaped.tensors[i], shape.layouts[i]);
  for (size_t i = 0; i < shaped.tensors.size(); ++i) setLayout(*shaped.tensors[i], shape.layouts[i]);
  for (size_t i = 0; i < chooser.symbols().size(); ++i) {
    Scalar* symbol = chooser.symbols()[i];
    if (!cloner.contains(symbol)) continue;
    Scalar* copy = cloner.clone(symbol);
    if (copy->isSymbol()) shaped.symbols.push_back({i, copy, 1});
  }
  return shaped;
}

ScalarBindings bindingsOf(std::span<const ShapedProgram::Symbol> symbols,
                          std::span<const std::optional<ScalarValue>> values) {
  ScalarBindings bindings;
  for (const ShapedProgram::Symbol& symbol : symbols) {
    const std::optional<ScalarValue>& value = values[symbol.from];
    if (!value) continue;
    bindings[symbol.to] = symbol.divisor == 1 ? *value : ScalarValue{asInt(*value) / symbol.divisor};
  }
  return bindings;
}

}  // namespace tokamak
