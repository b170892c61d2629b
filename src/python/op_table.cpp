#include "python/op_table.h"

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <nanobind/stl/vector.h>

#include "define/callables.h"
#include "define/op_reference.h"

namespace nb = nanobind;

namespace tokamak::python {

namespace {

nb::str textOf(std::string_view words) { return nb::str(words.data(), words.size()); }

// What a parameter is when it is left out; types by their names.
nb::object fallbackOf(const FieldValue& value) {
  const auto object = [](const auto& it) -> nb::object {
    using Form = std::decay_t<decltype(it)>;
    if constexpr (std::is_same_v<Form, int64_t> || std::is_same_v<Form, bool> || std::is_same_v<Form, double>)
      return nb::cast(it);
    if constexpr (std::is_same_v<Form, std::string>) return textOf(it);
    if constexpr (std::is_same_v<Form, EnumValue>) return textOf(it.name());
    if constexpr (std::is_same_v<Form, DataType>) return textOf(dataTypeName(it));
    if constexpr (std::is_same_v<Form, std::vector<int64_t>> || std::is_same_v<Form, std::vector<bool>>)
      return nb::tuple(nb::cast(it));
    return nb::none();
  };
  return std::visit(object, value);
}

}  // namespace

nb::dict callablesOf() {
  nb::dict all;
  for (const Callable& each : allCallables()) {
    nb::list parameters;
    for (const Parameter& it : each.parameters)
      parameters.append(
          nb::make_tuple(textOf(it.name), it.is_required, textOf(argumentKindName(it.kind)), fallbackOf(it.fallback)));
    const OpReference* const reference = findReference(each.name);
    nb::list results;
    if (reference != nullptr)
      for (const std::string_view name : exampleResults(*reference)) results.append(textOf(name));
    nb::dict described;
    described["parameters"] = parameters;
    described["results"] = results;
    described["meaning"] = textOf(reference == nullptr ? std::string_view() : reference->meaning);
    all[textOf(each.name)] = described;
  }
  return all;
}

}  // namespace tokamak::python
