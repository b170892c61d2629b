#include "python/programs.h"

#include <array>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include "base/error.h"
#include "base/require.h"
#include "compile/exported_program.h"
#include "compile/make_program.h"
#include "compile/multi_device_executor.h"
#include "host/ir/text/host_parser.h"
#include "host/plan/plan.h"
#include "python/communicators.h"
#include "python/compile_watch.h"
#include "python/compiled.h"
#include "python/definition.h"
#include "python/inside.h"
#include "python/unlocked.h"

namespace nb = nanobind;
using nb::literals::operator""_a;

namespace tokamak::python {

namespace {

using Device = std::shared_ptr<OpenedDevice>;

nb::list textsOf(const std::vector<KernelText>& texts) {
  nb::list list;
  for (const KernelText& each : texts) list.append(nb::make_tuple(each.schedule, each.kernel, each.source));
  return list;
}

nb::tuple layoutOf(const OutputLayout& layout) {
  constexpr std::array kMemories = {"own", "input", "output"};
  return nb::make_tuple(kMemories[static_cast<size_t>(layout.memory)], layout.bytes, layout.of, layout.offset,
                        std::string(dataTypeName(layout.dtype)), layout.sizes, layout.strides);
}

nb::list layoutsOf(const std::vector<OutputLayout>& layouts) {
  nb::list list;
  for (const OutputLayout& each : layouts) list.append(layoutOf(each));
  return list;
}

// --- what makes programs ---

template <class Field>
void set(const nb::dict& told, const char* name, Field& field) {
  if (told.contains(name)) field = nb::cast<Field>(told[name]);
}

// The names are those of the fields of CompileOptions.
CompileOptions optionsOf(const nb::dict& told) {
  CompileOptions options = kOwnOutputs;
  set(told, "makes_kernels", options.makes_kernels);
  set(told, "keeps_schedule", options.keeps_schedule);
  set(told, "proves_plans", options.proves_plans);
  set(told, "streams", options.streams);
  set(told, "calls_in_flight", options.calls_in_flight);
  set(told, "most_plans", options.most_plans);
  set(told, "most_plan_bytes", options.most_plan_bytes);
  set(told, "most_intermediate_bytes", options.most_intermediate_bytes);
  bool is_row_major = false;  // no field: outputs do not lie like the inputs that they follow
  set(told, "is_row_major", is_row_major);
  if (is_row_major) options.output_layouts = OutputLayouts::RowMajor;
  if (told.contains("communicator"))
    options.communicator = nb::cast<OpenedCommunicator&>(told["communicator"]).communicator.get();
  return options;
}

// Who communicates for a program, if anyone does; the program keeps it.
std::shared_ptr<OpenedCommunicator> communicatorOf(const nb::dict& told) {
  if (!told.contains("communicator")) return nullptr;
  return nb::cast<std::shared_ptr<OpenedCommunicator>>(told["communicator"]);
}

std::shared_ptr<Compiled> compileDefinition(const std::shared_ptr<Definition>& definition, const Device& device,
                                            const nb::dict& told) {
  const CompileOptions options = optionsOf(told);
  const bool is_scheduled = told.contains("takes_schedule") && nb::cast<bool>(told["takes_schedule"]);
  std::optional<CompiledSource> source;
  {
    const Unlocked unlocked;
    source = compiledFusion(is_scheduled ? definition->sharedProgram() : definition->sharedFusion(), *device->device,
                            options);
  }
  return std::make_shared<Compiled>(*std::move(source), device, communicatorOf(told));
}

// Those of its job, where the program is one of them.
std::optional<int64_t> ranksOf(const CompileOptions& options) {
  if (options.communicator == nullptr) return std::nullopt;
  return options.communicator->size();
}

std::shared_ptr<Compiled> compileText(const std::string& text, const std::string& name, const Device& device,
                                      const nb::dict& told) {
  const CompileOptions options = optionsOf(told);
  std::optional<CompiledSource> source;
  {
    const Unlocked unlocked;
    if (kindOfProgramText(text) == ProgramTextKind::HostProgram)
      source = CompiledSource{.program = compileHostProgram(text, name, *device->device, options), .options = options};
    else
      source = compiledFusion(readFusion(text, name, ranksOf(options)), *device->device, options);
  }
  return std::make_shared<Compiled>(*std::move(source), device, communicatorOf(told));
}

// A path, or the bytes of a file.
std::shared_ptr<Compiled> load(const std::variant<nb::bytes, std::string>& file, const std::string& name,
                               const Device& device, bool trusts_any_owner, bool compiles, const nb::dict& told) {
  const LoadOptions options = {.run = optionsOf(told), .trusts_any_owner = trusts_any_owner, .compiles = compiles};
  std::optional<CompiledSource> source;
  const auto* const bytes = std::get_if<nb::bytes>(&file);
  const std::string contents = bytes != nullptr ? std::string(bytes->c_str(), bytes->size()) : std::string();
  {
    const Unlocked unlocked;
    source =
        CompiledSource{.program = bytes != nullptr ? loadProgram(contents, name, *device->device, options)
                                                   : loadProgram(std::get<std::string>(file), *device->device, options),
                       .options = options.run};
  }
  return std::make_shared<Compiled>(*std::move(source), device);
}

// Of an extent: a list of sizes, or the first and the last of a range.
ExportedExtent extentOf(const nb::tuple& told) {
  if (nb::cast<bool>(told[0])) return ExportedExtent::range(nb::cast<int64_t>(told[1]), nb::cast<int64_t>(told[2]));
  return ExportedExtent(nb::cast<std::vector<int64_t>>(told[1]));
}

nb::tuple exportDefinition(const std::shared_ptr<Definition>& definition, const nb::dict& sizes,
                           const std::vector<std::string>& processors, const std::vector<std::string>& gpus,
                           int64_t threads, bool is_row_major) {
  ExportOptions options{.processors = processors,
                        .gpus = gpus,
                        .threads = threads,
                        .output_views = OutputViews::Copy,
                        .output_layouts = is_row_major ? OutputLayouts::RowMajor : OutputLayouts::Inferred};
  for (const auto& [name, told] : sizes)
    options.sizes.emplace(nb::cast<std::string>(name), extentOf(nb::cast<nb::tuple>(told)));
  std::vector<ExportReport> report;
  std::string bytes;
  {
    const Unlocked unlocked;
    bytes = exportProgram(*definition->sharedProgram(), options, &report);
  }
  nb::list targets;
  for (const ExportReport& each : report)
    targets.append(nb::make_tuple(each.target, each.kernels, each.launches, each.code_bytes));
  return nb::make_tuple(nb::bytes(bytes.data(), bytes.size()), targets);
}

// --- what programs say ---

// Of each input: its name, its type, and how many axes it has; None for a number.
nb::list inputsOf(Compiled& compiled) {
  nb::list told;
  const std::vector<std::string> names = compiled.program().inputNames();
  for (size_t i = 0; i < names.size(); ++i) {
    Val* const input = compiled.inputs()[i];
    const TensorView* const tensor = asTensor(input);
    told.append(nb::make_tuple(names[i], std::string(dataTypeName(input->dtype())),
                               tensor == nullptr ? nb::none() : nb::cast(shapeOf(*tensor).size())));
  }
  return told;
}

// The places among the inputs of tensors that calls write.
std::vector<size_t> updatedInputsOf(Compiled& compiled) {
  const std::vector<size_t> tensors = tensorPlacesOf(compiled.inputs());
  std::vector<size_t> updated;
  for (const auto& [output, input] : executorOf(compiled.program()).outputs().in_place)
    updated.push_back(tensors[input]);
  return updated;
}

// Per input a number, or the type, sizes and strides of an array; None before the first call.
nb::object lastInputsOf(LastCall& last) {
  const std::optional<std::vector<Argument>> inputs = last.inputs();
  if (!inputs) return nb::none();
  nb::list told;
  for (const Argument& input : *inputs) {
    if (const auto* number = std::get_if<ScalarValue>(&input.value())) {
      told.append(std::visit([](auto value) { return nb::object(nb::cast(value)); }, *number));
      continue;
    }
    const auto& tensor = std::get<Tensor>(input.value());
    told.append(nb::make_tuple(std::string(dataTypeName(tensor.dtype())),
                               std::vector<int64_t>(tensor.sizes().begin(), tensor.sizes().end()),
                               std::vector<int64_t>(tensor.strides().begin(), tensor.strides().end())));
  }
  return told;
}

nb::dict statisticsOf(Compiled& compiled) {
  const ProgramStatistics now = compiled.program().statistics();
  nb::dict told;
  told["plans"] = now.plans;
  told["plan_bytes"] = now.plan_bytes;
  told["known_calls"] = compiled.knownCalls();
  told["new_calls"] = now.new_calls;
  told["forgotten"] = now.forgotten;
  told["contexts"] = now.contexts;
  told["device_bytes"] = now.device_bytes;
  return told;
}

nb::dict planOf(PythonCall& call) {
  const std::shared_ptr<const Plan> held = call.plan();
  const Plan& plan = *held;
  nb::dict told;
  tellPlan(plan.summary(), told);
  told["text"] = plan.toString();
  return told;
}

void prepare(Compiled& compiled, const nb::dict& told) {
  std::map<std::string, ScalarValue> sizes;
  for (const auto& [name, value] : told) {
    const std::string extent = nb::cast<std::string>(name);
    if (nb::isinstance<nb::float_>(value))
      sizes[extent] = nb::cast<double>(value);
    else
      sizes[extent] = nb::cast<int64_t>(value);
  }
  const Unlocked unlocked;
  compiled.program().prepare(sizes, watchedPrepare());
}

// Arrays are a type, sizes and, unless they are row-major, strides in elements.
nb::list layoutsFor(Compiled& compiled, const nb::list& arrays, const nb::list& numbers) {
  std::vector<AbstractArray> described;
  for (const nb::handle each : arrays) {
    const auto name = nb::cast<std::string>(each[0]);
    const auto dtype = dataTypeFromName(name);
    TK_REQUIRE(dtype, Definition, "'{}' is no type", name);
    AbstractArray& array = described.emplace_back(AbstractArray{*dtype, nb::cast<std::vector<int64_t>>(each[1])});
    if (nb::len(each) > 2) array.strides = nb::cast<std::vector<int64_t>>(each[2]);
  }
  std::vector<ScalarValue> given;
  for (const nb::handle each : numbers) {
    if (nb::isinstance<nb::float_>(each))
      given.emplace_back(nb::cast<double>(each));
    else
      given.emplace_back(nb::cast<int64_t>(nb::int_(each)));
  }
  return layoutsOf(compiled.outputLayoutsFor(described, given));
}

// Other ranks are told of a call that does not come: HostIrEvaluator::leave().
void leave(Compiled& compiled, const std::string& text, int64_t issued_before) {
  const std::exception_ptr error = std::make_exception_ptr(Error(ErrorCode::Bind, text));
  const Unlocked unlocked;
  executorOf(compiled.program()).evaluator().leave(error, issued_before);
}

// --- calls ---

void bindCalls(nb::module_& m) {
  nb::class_<PythonCall>(m, "Call")
      .def("output_layouts", [](PythonCall& it) { return layoutsOf(it.outputLayouts()); })
      .def("kernel_texts", [](const PythonCall& it, bool is_cuda) { return textsOf(it.kernelTexts(is_cuda)); })
      .def("plan", &planOf)
      .def("explain", [](const PythonCall& it) { return toPython(it.explain()); })
      .def("run", [](PythonCall& it, const nb::list& outputs, LastCall& last) { it.run(objectsOf(outputs), last); });
  nb::class_<BoundCall>(m, "BoundCall").def_prop_ro("outputs", &BoundCall::outputs).def("run", &BoundCall::run);
}

}  // namespace

void tellPlan(const PlanSummary& plan, nb::dict& told) {
  told["steps"] = plan.steps;
  told["streams"] = plan.streams;
  told["waits_written"] = plan.waits_written;
  told["waits_kept"] = plan.waits_kept;
  told["intermediate_bytes"] = plan.arena_bytes;
  told["output_bytes"] = plan.output_bytes;
}

void bindPrograms(nb::module_& m) {
  nb::class_<LastCall>(m, "LastCall").def(nb::init<>()).def("inputs", &lastInputsOf);
  nb::class_<Compiled>(m, "Compiled", nb::is_weak_referenceable())
      .def("try_execute", &Compiled::tryExecute, "inputs"_a, "out"_a.none(), "last"_a)
      .def("last_kernel_texts",
           [](const Compiled& it, LastCall& last, bool is_cuda) -> nb::object {
             const auto texts = it.kernelTexts(last, is_cuda);
             return texts ? nb::object(textsOf(*texts)) : nb::none();
           })
      .def("explain_last",
           [](const Compiled& it, LastCall& last) -> nb::object {
             const auto told = it.explain(last);
             return told ? nb::object(toPython(*told)) : nb::none();
           })
      .def("pictures", [](const Compiled& it, LastCall& last,
                          const std::string& id_prefix) { return toPython(it.pictures(last, id_prefix)); })
      .def("new_calls", [](Compiled& it) { return toPython(it.newCalls()); })
      .def_prop_ro("seconds_to_lower", &Compiled::secondsToLower)
      .def_prop_ro("output_count", &Compiled::outputCount)
      .def_prop_ro("name", [](Compiled& it) { return it.program().name(); })
      .def_prop_ro("inputs", &inputsOf)
      .def_prop_ro("output_names", [](Compiled& it) { return it.program().outputNames(); })
      .def_prop_ro("updated_inputs", &updatedInputsOf)
      .def("host_text", [](Compiled& it) { return it.program().hostText(); })
      .def("statistics", &statisticsOf)
      .def_prop_ro("issued_calls", [](Compiled& it) { return executorOf(it.program()).evaluator().issuedCalls(); })
      .def("leave", &leave, "text"_a, "issued_before"_a)
      .def("prepare", &prepare, "sizes"_a)
      .def("layouts_for", &layoutsFor, "arrays"_a, "numbers"_a)
      .def(
          "bind",
          [](Compiled& it, nb::handle inputs, nb::handle out) { return std::make_unique<BoundCall>(it, inputs, out); },
          nb::keep_alive<0, 1>(), "inputs"_a, "out"_a.none())
      .def(
          "call",
          [](Compiled& it, const nb::list& inputs, nb::handle stream) {
            return it.call(objectsOf(inputs), callersStreamOf(stream));
          },
          nb::keep_alive<0, 1>(), nb::keep_alive<0, 2>(), "inputs"_a, "stream"_a.none());
  bindCalls(m);
  m.def("compile_definition", &compileDefinition, "definition"_a, "device"_a, "options"_a);
  m.def("compile_text", &compileText, "text"_a, "name"_a, "device"_a, "options"_a);
  m.def("load", &load, "file"_a, "name"_a, "device"_a, "trusts_any_owner"_a, "compiles"_a, "options"_a);
  m.def("export_definition", &exportDefinition, "definition"_a, "sizes"_a, "processors"_a, "gpus"_a, "threads"_a,
        "is_row_major"_a);
}

}  // namespace tokamak::python
