// The interface for C: fusions and programs.
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>

#include "compile/exported_program.h"
#include "define/callables.h"
#include "ir/text/fusion_printer.h"
#include "tokamak/c_hooks.h"
#include "tokamak/c_objects.h"

namespace tokamak::c {

namespace {

Val* valOf(const tokamak_value* value) {
  return reinterpret_cast<Val*>(const_cast<tokamak_value*>(value));  // NOLINT(cppcoreguidelines-pro-type-const-cast)
}
tokamak_value* handleOf(Val* val) { return reinterpret_cast<tokamak_value*>(val); }

TensorView* tensorOf(const tokamak_value* value, const char* parameter) {
  TensorView* const tensor = value == nullptr ? nullptr : asTensor(valOf(value));
  TK_REQUIRE(tensor != nullptr, Usage, "{}: it must be a tensor of the fusion", parameter);
  return tensor;
}

std::string_view textOf(const char* text, const char* parameter) {
  required(text, parameter);
  return text;
}

template <class T>
std::span<const T> listOf(const T* values, size_t count, const char* parameter) {
  if (count > 0) required(values, parameter);
  constexpr size_t kSize = sizeof(T);  // NOLINT(bugprone-sizeof-expression): of pointers, too
  TK_REQUIRE(count <= PTRDIFF_MAX / kSize, Usage, "{}: {} elements of {} bytes were given; no array has as many",
             parameter, count, kSize);
  return {values, count};
}

// Errors: Definition for a value of another fusion.
Val* ownVal(const Fusion& fusion, const tokamak_value* value, const char* parameter) {
  Val* const val = valOf(&required(value, parameter));
  TK_REQUIRE(&val->arena() == &fusion, Definition, "{}: it belongs to another fusion", parameter);
  return val;
}

FieldValue valuesOf(const Fusion& fusion, std::span<tokamak_value* const> values) {
  std::vector<Val*> vals;
  std::vector<Scalar*> scalars;
  for (const tokamak_value* value : values) {
    vals.push_back(ownVal(fusion, value, "operand: a value of a list"));
    if (Scalar* scalar = asScalar(vals.back())) scalars.push_back(scalar);
  }
  if (!scalars.empty() && scalars.size() == vals.size()) return scalars;
  return vals;
}

FieldValue fieldOf(const Fusion& fusion, const tokamak_operand& operand) {
  const auto integers = [&] { return listOf(operand.of.integers, operand.count, "operand: integers"); };
  switch (operand.kind) {
    case TOKAMAK_OPERAND_NONE: return std::monostate();
    case TOKAMAK_OPERAND_VALUE: {
      Val* const val = ownVal(fusion, operand.of.value, "operand: value");
      if (Scalar* scalar = asScalar(val)) return scalar;
      return val;
    }
    case TOKAMAK_OPERAND_INTEGER: return operand.of.integer;
    case TOKAMAK_OPERAND_FLOAT: return operand.of.floating;
    case TOKAMAK_OPERAND_BOOL: return operand.of.integer != 0;
    case TOKAMAK_OPERAND_TEXT: return std::string(textOf(operand.of.text, "operand: text"));
    case TOKAMAK_OPERAND_DTYPE: return dataTypeOf(operand.of.integer);
    case TOKAMAK_OPERAND_INTEGERS: return std::vector<int64_t>(integers().begin(), integers().end());
    case TOKAMAK_OPERAND_VALUES: return valuesOf(fusion, listOf(operand.of.values, operand.count, "operand: values"));
    case TOKAMAK_OPERAND_BOOLS: {
      std::vector<bool> flags;
      for (const int64_t flag : integers()) flags.push_back(flag != 0);
      return flags;
    }
    case TOKAMAK_OPERAND_ANY: break;
  }
  TK_RAISE(Usage, "operand: kind {} was given; legal are 0 to 9", static_cast<int>(operand.kind));
}

std::vector<NamedSize> sizesOf(const tokamak_size* sizes, int32_t rank) {
  TK_REQUIRE(rank >= 0, Usage, "rank {} was given; it is not negative", rank);
  std::vector<NamedSize> named;
  for (const tokamak_size& size : listOf(sizes, static_cast<size_t>(rank), "sizes")) {
    if (size.name != nullptr)
      named.emplace_back(size.name);
    else
      named.emplace_back(size.number);
  }
  return named;
}

Argument argumentOf(const tokamak_argument& given) {
  const auto value = [&]() -> Argument {
    switch (given.kind) {
      case TOKAMAK_ARGUMENT_TENSOR: return required(given.of.tensor, "inputs: tensor").tensor;
      case TOKAMAK_ARGUMENT_INTEGER: return given.of.integer;
      case TOKAMAK_ARGUMENT_FLOAT: return given.of.floating;
      case TOKAMAK_ARGUMENT_BOOL: return given.of.integer != 0;
      case TOKAMAK_ARGUMENT_ANY: break;
    }
    TK_RAISE(Usage, "inputs: kind {} was given; legal are 1 to 4", static_cast<int>(given.kind));
  };
  if (given.name == nullptr) return value();
  return {given.name, value()};
}

CompileOptions optionsOf(const tokamak_compile_options& given) {
  CompileOptions options;
  if (given.streams != 0) options.streams = given.streams;
  if (given.calls_in_flight != 0) options.calls_in_flight = given.calls_in_flight;
  if (given.most_plans != 0) options.most_plans = given.most_plans;
  if (given.most_plan_bytes != 0) options.most_plan_bytes = given.most_plan_bytes;
  if (given.copies_views != 0) options.output_views = OutputViews::Copy;
  if (given.row_major != 0) options.output_layouts = OutputLayouts::RowMajor;
  options.most_intermediate_bytes = given.most_intermediate_bytes;
  options.runs_on_callers_thread = given.runs_on_callers_thread != 0;
  return options;
}

const char* nameIn(const std::vector<std::string>& names, size_t i) {
  return i < names.size() ? names[i].c_str() : nullptr;
}

void run(tokamak_program& program, std::span<const tokamak_argument> inputs, const tokamak_tensor* const* given,
         tokamak_stream* stream, const PrepareOptions& options, tokamak_tensor** results) {
  std::vector<Argument> arguments;
  for (const tokamak_argument& input : inputs) arguments.push_back(argumentOf(input));
  const size_t count = program.outputs.size();
  std::vector<Tensor> outputs(count);
  for (size_t i = 0; i < count; ++i) {
    if (given != nullptr && given[i] != nullptr) outputs[i] = given[i]->tensor;
    TK_REQUIRE(results != nullptr || outputs[i].isDefined(), Usage,
               "results is null, and no tensor is given for the output {}", program.outputs[i]);
  }
  // What the call gives has a place before it runs.
  std::vector<std::unique_ptr<tokamak_tensor>> handles(count);
  for (std::unique_ptr<tokamak_tensor>& handle : handles) handle = std::make_unique<tokamak_tensor>();
  std::vector<Tensor> made = program.program.run(std::span<const Argument>(arguments), outputs,
                                                 stream == nullptr ? nullptr : stream->stream, options);
  for (size_t i = 0; i < count; ++i) handles[i]->tensor = std::move(made[i]);
  if (stream == nullptr) {
    for (const std::unique_ptr<tokamak_tensor>& handle : handles) handle->tensor.waitReady();
    // Those that are updated in place, and not given.
    for (const tokamak_argument& input : inputs) {
      if (input.kind == TOKAMAK_ARGUMENT_TENSOR) input.of.tensor->tensor.waitReady();
    }
  }
  for (size_t i = 0; results != nullptr && i < count; ++i) results[i] = handles[i].release();
}

// With the options and allocators of the caller.
template <class Make>
tokamak_program* madeProgram(const tokamak_compile_options* options, const Make& make) {
  const tokamak_compile_options given = known(options, "options");
  TK_REQUIRE(given.reserved == 0, Usage, "options: reserved is {}; it must be 0", given.reserved);
  return new tokamak_program(make, optionsOf(given), outputAllocatorOf(given.output_allocator),
                             intermediateAllocatorOf(given.intermediate_allocator),
                             given.communicator == nullptr ? nullptr : given.communicator->communicator);
}

template <class Load>
tokamak_program* loadedProgram(tokamak_device* device, const tokamak_load_options* options, const Load& load) {
  Device& own = *required(device, "device").device;
  const tokamak_load_options given = known(options, "options");
  return madeProgram(given.run, [&](const CompileOptions& run) {
    return load(
        own, LoadOptions{.run = run, .trusts_any_owner = given.trusts_any_owner != 0, .compiles = given.compiles != 0});
  });
}

}  // namespace

}  // namespace tokamak::c

namespace c = tokamak::c;
using tokamak::Argument;
using tokamak::CallArgument;
using tokamak::compile;
using tokamak::CompileOptions;
using tokamak::definingResolver;
using tokamak::Device;
using tokamak::Fusion;
using tokamak::LoadOptions;
using tokamak::loadProgram;
using tokamak::printFusion;
using tokamak::readFusion;
using tokamak::ScalarValue;
using tokamak::Val;
using tokamak::c::guarded;
using tokamak::c::required;

static tokamak_error* parse(const char* text, size_t length, const char* file, std::optional<int64_t> ranks,
                            tokamak_fusion** fusion) {
  return guarded([&] {
    required(fusion, "fusion");
    const std::span<const char> given = c::listOf(text, length, "text");
    *fusion = new tokamak_fusion{
        readFusion(std::string_view(given.data(), given.size()), file == nullptr ? "fusion" : file, ranks), {}};
  });
}

tokamak_error* tokamak_fusion_parse(const char* text, size_t length, const char* file, tokamak_fusion** fusion) {
  return parse(text, length, file, std::nullopt, fusion);
}

tokamak_error* tokamak_fusion_parse_for_ranks(const char* text, size_t length, const char* file, int64_t ranks,
                                              tokamak_fusion** fusion) {
  return parse(text, length, file, ranks, fusion);
}

tokamak_error* tokamak_fusion_create(const char* name, tokamak_fusion** fusion) {
  return guarded([&] {
    required(fusion, "fusion");
    *fusion = new tokamak_fusion{std::make_unique<Fusion>(std::string(c::textOf(name, "name"))), {}};
  });
}

tokamak_error* tokamak_fusion_input(tokamak_fusion* fusion, const char* name, tokamak_dtype dtype, int32_t rank,
                                    const tokamak_size* sizes, tokamak_value** value) {
  return guarded([&] {
    required(value, "value");
    Fusion& owner = *required(fusion, "fusion").fusion;
    *value = c::handleOf(owner.input(c::textOf(name, "name"), c::dataTypeOf(dtype), c::sizesOf(sizes, rank)));
  });
}

tokamak_error* tokamak_fusion_scalar_input(tokamak_fusion* fusion, const char* name, tokamak_dtype dtype,
                                           tokamak_value** value) {
  return guarded([&] {
    required(value, "value");
    *value = c::handleOf(required(fusion, "fusion").fusion->scalarInput(c::textOf(name, "name"), c::dataTypeOf(dtype)));
  });
}

tokamak_error* tokamak_fusion_call(tokamak_fusion* fusion, const char* function, const tokamak_operand* operands,
                                   size_t operand_count, tokamak_value** results, size_t capacity, size_t* count) {
  return guarded([&] {
    Fusion& owner = *required(fusion, "fusion").fusion;
    const std::string_view name = c::textOf(function, "function");
    std::vector<CallArgument> arguments;
    for (const tokamak_operand& operand : c::listOf(operands, operand_count, "operands"))
      arguments.push_back({operand.name == nullptr ? std::string_view() : operand.name, c::fieldOf(owner, operand)});
    if (capacity > 0) required(results, "results");
    const std::optional<std::vector<Val*>> made = definingResolver().call(owner, name, arguments);
    TK_REQUIRE(made.has_value(), Definition, "there is no function '{}'", name);
    TK_REQUIRE(made->size() <= capacity, Usage, "{} gives {} results; there is room for {}", name, made->size(),
               capacity);
    for (size_t i = 0; i < made->size(); ++i) results[i] = c::handleOf((*made)[i]);
    if (count != nullptr) *count = made->size();
  });
}

tokamak_error* tokamak_fusion_output(tokamak_fusion* fusion, const char* name, tokamak_value* tensor) {
  return guarded(
      [&] { required(fusion, "fusion").fusion->output(c::textOf(name, "name"), c::tensorOf(tensor, "tensor")); });
}

tokamak_error* tokamak_fusion_update(tokamak_fusion* fusion, tokamak_value* input, tokamak_value* value) {
  return guarded(
      [&] { required(fusion, "fusion").fusion->update(c::tensorOf(input, "input"), c::tensorOf(value, "value")); });
}

tokamak_error* tokamak_fusion_text(tokamak_fusion* fusion, const char** text) {
  return guarded([&] {
    required(text, "text");
    tokamak_fusion& asked = required(fusion, "fusion");
    asked.text = printFusion(*asked.fusion);
    *text = asked.text.c_str();
  });
}

void tokamak_fusion_free(tokamak_fusion* fusion) { delete fusion; }

tokamak_error* tokamak_compile(const tokamak_fusion* fusion, tokamak_device* device,
                               const tokamak_compile_options* options, tokamak_program** program) {
  return guarded([&] {
    required(program, "program");
    const Fusion& compiled = *required(fusion, "fusion").fusion;
    Device& own = *required(device, "device").device;
    *program = c::madeProgram(options, [&](const CompileOptions& known) {
      TK_REQUIRE(known.communicator == nullptr || known.communicator->device().get() == &own, Usage,
                 "options: the communicator is bound to another device ({}) than `device` ({})",
                 known.communicator->device()->properties().name, own.properties().name);
      return compile(compiled, own, known);
    });
  });
}

tokamak_error* tokamak_program_load(tokamak_device* device, const char* path, const tokamak_load_options* options,
                                    tokamak_program** program) {
  return guarded([&] {
    required(program, "program");
    const std::string file(c::textOf(path, "path"));
    *program = c::loadedProgram(device, options,
                                [&](Device& own, const LoadOptions& known) { return loadProgram(file, own, known); });
  });
}

tokamak_error* tokamak_program_load_bytes(tokamak_device* device, const void* bytes, size_t size, const char* name,
                                          const tokamak_load_options* options, tokamak_program** program) {
  return guarded([&] {
    required(program, "program");
    const std::span<const char> given = c::listOf(static_cast<const char*>(bytes), size, "bytes");
    const std::string_view file = c::textOf(name, "name");
    *program = c::loadedProgram(device, options, [&](Device& own, const LoadOptions& known) {
      return loadProgram(std::string(given.data(), given.size()), file, own, known);
    });
  });
}

size_t tokamak_program_input_count(const tokamak_program* program) { return program->inputs.size(); }
size_t tokamak_program_output_count(const tokamak_program* program) { return program->outputs.size(); }

const char* tokamak_program_input_name(const tokamak_program* program, size_t i) {
  return c::nameIn(program->inputs, i);
}

const char* tokamak_program_output_name(const tokamak_program* program, size_t i) {
  return c::nameIn(program->outputs, i);
}

tokamak_error* tokamak_program_text(tokamak_program* program, const char** text) {
  return guarded([&] {
    required(text, "text");
    tokamak_program& asked = required(program, "program");
    std::call_once(asked.text_is_made, [&] { asked.text = asked.program.hostText(); });
    *text = asked.text.c_str();
  });
}

tokamak_error* tokamak_program_prepare(tokamak_program* program, const char* const* names, const int64_t* values,
                                       size_t count) {
  return tokamak_program_prepare_with(program, names, values, count, nullptr);
}

tokamak_error* tokamak_program_prepare_with(tokamak_program* program, const char* const* names, const int64_t* values,
                                            size_t count, const tokamak_prepare_options* options) {
  return guarded([&] {
    const c::GivenPrepareOptions how(options);
    std::map<std::string, ScalarValue> sizes;
    const std::span<const char* const> given = c::listOf(names, count, "names");
    const std::span<const int64_t> numbers = c::listOf(values, count, "values");
    for (size_t i = 0; i < count; ++i) {
      const bool is_new = sizes.emplace(c::textOf(given[i], "names: a name"), numbers[i]).second;
      TK_REQUIRE(is_new, Bind, "prepare: '{}' is given twice", given[i]);
    }
    required(program, "program").program.prepare(sizes, how.options());
  });
}

tokamak_error* tokamak_program_run(tokamak_program* program, const tokamak_argument* inputs, size_t input_count,
                                   const tokamak_tensor* const* given, tokamak_stream* stream,
                                   tokamak_tensor** results) {
  return tokamak_program_run_with(program, inputs, input_count, given, stream, nullptr, results);
}

tokamak_error* tokamak_program_run_with(tokamak_program* program, const tokamak_argument* inputs, size_t input_count,
                                        const tokamak_tensor* const* given, tokamak_stream* stream,
                                        const tokamak_prepare_options* options, tokamak_tensor** results) {
  return guarded([&] {
    const c::GivenPrepareOptions how(options);
    c::run(required(program, "program"), c::listOf(inputs, input_count, "inputs"), given, stream, how.options(),
           results);
  });
}

void tokamak_program_free(tokamak_program* program) { delete program; }
