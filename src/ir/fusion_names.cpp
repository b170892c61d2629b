// What users of the C++ interface call by name: inputs, their extents, outputs.
#include <algorithm>

#include "base/require.h"
#include "ir/fusion.h"
#include "ir/text/names.h"

namespace tokamak {

void Fusion::requireFreeName(std::string_view what, std::string_view name) const {
  TK_REQUIRE(
      canNameSymbol(name), Definition,
      "{} '{}': no name; a letter or '_', then letters, digits and '_' are legal, but no type, number or word of "
      "the texts (T0, f32, true, ...)",
      what, name);
  const bool is_tensor = std::ranges::any_of(allTensors(), [&](const TensorView* it) { return it->name() == name; });
  const bool is_symbol = std::ranges::any_of(allSymbols(), [&](const Scalar* it) { return it->name() == name; });
  TK_REQUIRE(!is_tensor && !is_symbol, Definition, "{} '{}': the fusion has {} of that name; give it another one", what,
             name, is_tensor ? "a tensor" : "an extent or a scalar");
}

Scalar* Fusion::extentNamed(const std::string& name) {
  const std::vector<Scalar*> symbols = allSymbols();
  const auto known = std::ranges::find(symbols, name, [](const Scalar* it) { return it->name(); });
  if (known == symbols.end()) {
    requireFreeName("extent", name);
    return symbol(name);
  }
  TK_REQUIRE(isIntegerType((*known)->dtype()), Definition,
             "extent '{}': the fusion has a scalar of type {} of that name", name, dataTypeName((*known)->dtype()));
  return *known;
}

TensorView* Fusion::input(std::string_view name, DataType dtype, std::span<const NamedSize> sizes) {
  requireFreeName("input", name);
  const bool is_own_size =
      std::ranges::any_of(sizes, [&](const NamedSize& it) { return it.name() != nullptr && *it.name() == name; });
  TK_REQUIRE(!is_own_size, Definition, "input '{}': an extent has its name; give one of them another name", name);
  Axes axes;
  for (const NamedSize& size : sizes)
    axes.push_back(axis({.extent = size.number() != nullptr ? constant(*size.number()) : extentNamed(*size.name())}));
  TensorView* const made = tensor(dtype, std::move(axes));
  made->setName(std::string(name));
  addInput(made);
  return made;
}

Scalar* Fusion::scalarInput(std::string_view name, DataType dtype) {
  requireFreeName("input", name);
  Scalar* const made = symbol(std::string(name), dtype);
  addInput(made);
  return made;
}

TensorView* Fusion::output(std::string_view name, TensorView* tensor) {
  TK_REQUIRE(tensor != nullptr && &tensor->fusion() == this, Definition,
             "output '{}': {}; it must be a tensor of the fusion", name,
             tensor == nullptr ? "the tensor is null" : "the tensor is of another fusion");
  TK_REQUIRE(tensor->name().empty(), Definition, "output '{}': the tensor is {} already; set() makes another of it",
             name, tensor->name());
  requireFreeName("output", name);
  tensor->setName(std::string(name));
  addOutput(tensor);
  return tensor;
}

void Fusion::update(TensorView* input, TensorView* value) { aliasOutput(value, input, /*is_hidden=*/true); }

}  // namespace tokamak
