#include "python/heuristics.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/require.h"
#include "heuristics/kernel_kind.h"
#include "heuristics/parameter_fields.h"
#include "heuristics/schedule_kernel.h"
#include "heuristics/schedule_parameters.h"
#include "ir/clone.h"
#include "ir/text/names.h"
#include "python/definition.h"
#include "python/opened_device.h"
#include "schedule/schedule_checks.h"

namespace nb = nanobind;
using nb::literals::operator""_a;

namespace tokamak::python {

namespace {

/// Parameters that were chosen, and perhaps edited, with the loops that they are for.
struct ChosenParameters {
  ScheduleParameters parameters;
  KernelTarget target;
  KernelLoops loops;

  bool isCuda() const { return target.kind == TargetKind::Cuda; }

  ParameterField field(const std::string& name) {
    const std::vector<ParameterField> fields = fieldsOf(parameters);
    const auto found = std::ranges::find(fields, name, &ParameterField::name);
    TK_REQUIRE(found != fields.end(), Schedule, "'{}' is no parameter of a schedule", name);
    return *found;
  }
};

// A copy in which tensors have the numbers of the printed fusion, for sentences to name.
std::unique_ptr<Fusion> numberedCopy(const Fusion& fusion) {
  std::unique_ptr<Fusion> copy = cloneFusion(fusion);
  const FusionNames names(*copy);
  for (TensorView* tensor : copy->allTensors()) {
    if (tensor->label() < 0 && names.contains(*tensor)) tensor->setLabel(names.numberOf(*tensor));
  }
  return copy;
}

std::unique_ptr<Fusion> unscheduledCopy(const Fusion& fusion) {
  const auto isCut = [](const TensorView* tensor) { return !tensor->domain().root.empty(); };
  TK_REQUIRE(!isScheduled(fusion) && std::ranges::none_of(fusion.allTensors(), isCut), Schedule,
             "{} has a schedule already; heuristics begin with none", fusion.name());
  return numberedCopy(fusion);
}

nb::list judgeKinds(const Definition& definition, const KernelTarget& target) {
  const std::unique_ptr<Fusion> copy = numberedCopy(definition.fusion());
  nb::list verdicts;
  for (const KindVerdict& each : judgeKernelKinds(*copy, target)) {
    const std::string_view name = kernelKindName(each.kind);
    verdicts.append(nb::make_tuple(nb::str(name.data(), name.size()), each.reason));
  }
  return verdicts;
}

// `given`: per input a list of sizes, an integer, or None where nothing is known.
ScalarBindings bindingsIn(const Fusion& fusion, const nb::list& given) {
  ScalarBindings sizes;
  const auto bind = [&](Scalar* symbol, nb::handle value) {
    if (symbol->isSymbol() && nb::isinstance<nb::int_>(value)) sizes[symbol] = nb::cast<int64_t>(value);
  };
  for (size_t i = 0; i < std::min(nb::len(given), fusion.inputs().size()); ++i) {
    Val* const input = fusion.inputs()[i];
    const nb::handle told = given[i];
    const TensorView* const tensor = asTensor(input);
    if (tensor == nullptr) {
      if (input->dtype() == DataType::I64) bind(static_cast<Scalar*>(input), told);
      continue;
    }
    const Axes& axes = tensor->logical();
    if (!nb::isinstance<nb::list>(told) || nb::len(told) != axes.size()) continue;
    for (size_t axis = 0; axis < axes.size(); ++axis) bind(axes[axis]->extent(), told[axis]);
  }
  return sizes;
}

ChosenParameters chooseFor(const Definition& definition, const KernelTarget& target, const nb::list& given) {
  const std::unique_ptr<Fusion> copy = unscheduledCopy(definition.program());
  ReductionStructure structure(*copy);
  const auto problem = whyNotOneKernel(structure, target);
  TK_REQUIRE(!problem, Schedule, "no single kernel: {}", *problem);
  return {chooseParameters(structure, target, bindingsIn(*copy, given)), target, kernelLoopsOf(structure)};
}

// Legal for all sizes: a schedule runs with more sizes than it was made for.
ScheduleParameters legalFor(Fusion& fusion, const ChosenParameters& chosen) {
  ScheduleParameters parameters = chosen.parameters;
  requireLegal(fieldsOf(parameters));
  if (auto* const cuda = std::get_if<CudaScheduleParameters>(&parameters))
    *cuda = legalParameters(requireReductionStructure(fusion), *cuda, {}, chosen.target);
  return parameters;
}

// The schedule is made on another copy first, so that an error leaves the definition's as it was.
void applyTo(Definition& definition, const ChosenParameters& chosen) {
  const std::unique_ptr<Fusion> tried = unscheduledCopy(definition.program());
  const ScheduleParameters parameters = legalFor(*tried, chosen);
  scheduleKernel(*tried, parameters);
  scheduleKernel(definition.scheduledFusion(), parameters);
}

nb::tuple describe(const ParameterField& field) {
  return nb::make_tuple(nb::str(field.name.data(), field.name.size()), std::holds_alternative<bool*>(field.value),
                        nb::str(field.says.data(), field.says.size()));
}

nb::list parametersOf(bool is_cuda) {
  ScheduleParameters parameters;
  if (is_cuda) parameters = CudaScheduleParameters();
  nb::list described;
  for (const ParameterField& field : fieldsOf(parameters)) described.append(describe(field));
  return described;
}

nb::list namesUsed(ChosenParameters& chosen) {
  nb::list names;
  for (const ParameterField& field : fieldsOf(chosen.parameters)) {
    if (isUsed(field, chosen.loops)) names.append(nb::str(field.name.data(), field.name.size()));
  }
  return names;
}

nb::object valueOf(ChosenParameters& chosen, const std::string& name) {
  const ParameterField field = chosen.field(name);
  if (const auto* number = std::get_if<int64_t*>(&field.value)) return nb::int_(**number);
  return nb::bool_(*std::get<bool*>(field.value));
}

void setValue(ChosenParameters& chosen, const std::string& name, int64_t value) {
  const ParameterField field = chosen.field(name);
  if (auto* const* number = std::get_if<int64_t*>(&field.value))
    **number = value;
  else
    *std::get<bool*>(field.value) = value != 0;
}

}  // namespace

void bindHeuristics(nb::module_& m) {
  nb::class_<KernelTarget>(m, "KernelTarget")
      .def_static("of", [](const OpenedDevice& it) { return it.device->kernelTarget(); })
      .def_static("of_a_gpu", &hopperTarget)
      .def_prop_ro("is_cuda", [](const KernelTarget& it) { return it.kind == TargetKind::Cuda; });
  nb::class_<ChosenParameters>(m, "ChosenParameters")
      .def_prop_ro("is_cuda", &ChosenParameters::isCuda)
      .def_prop_ro("names", &namesUsed)
      .def("value", &valueOf, "name"_a)
      .def("set", &setValue, "name"_a, "value"_a);
  m.def("parameters_of", &parametersOf, "is_cuda"_a);
  m.def("judge_kinds", &judgeKinds, "definition"_a, "target"_a);
  m.def("choose_parameters", &chooseFor, "definition"_a, "target"_a, "sizes"_a);
  m.def("apply_parameters", &applyTo, "definition"_a, "chosen"_a);
}

}  // namespace tokamak::python
