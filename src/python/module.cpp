// The extension module _tokamak: definitions, values, calls by name, programs. The package tokamak is what users see.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <deque>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/require.h"
#include "base/usable_processors.h"
#include "dist/communication_error.h"
#include "ir/text/fusion_printer.h"
#include "jit/open_device.h"
#include "python/communicators.h"
#include "python/compile_watch.h"
#include "python/definition.h"
#include "python/heuristics.h"
#include "python/inside.h"
#include "python/known_sizes.h"
#include "python/op_table.h"
#include "python/opened_device.h"
#include "python/own_array.h"
#include "python/programs.h"
#include "python/reference.h"
#include "python/symbolic_sizes.h"
#include "python/unlocked.h"
#include "python/xla_call.h"
#include "runtime/cpu/open_blas.h"
#include "tools/kernels_option.h"
#include "tools/process.h"

namespace nb = nanobind;
using nb::literals::operator""_a;

namespace tokamak::python {
namespace {

// --- errors ---

struct ErrorClass {
  ErrorCode code;
  const char* name;
  PyObject** also;  // a class of Python's own that it is, too
};

constexpr std::array kErrorClasses = {
    ErrorClass{ErrorCode::Definition, "tokamak.DefinitionError", &PyExc_ValueError},
    ErrorClass{ErrorCode::Schedule, "tokamak.ScheduleError", &PyExc_ValueError},
    ErrorClass{ErrorCode::Bind, "tokamak.BindError", &PyExc_ValueError},
    ErrorClass{ErrorCode::Unsupported, "tokamak.UnsupportedError", &PyExc_NotImplementedError},
    ErrorClass{ErrorCode::OutOfMemory, "tokamak.OutOfMemoryError", &PyExc_MemoryError},
};

PyObject* error_base = nullptr;
PyObject* communication_error = nullptr;  // ranks are told of another one's failure
std::array<PyObject*, kErrorClasses.size()> error_classes = {};

PyObject* classOf(ErrorCode code) {
  for (size_t i = 0; i < kErrorClasses.size(); ++i) {
    if (kErrorClasses[i].code == code) return error_classes[i];
  }
  return error_base;
}

void tellError(const nb::object& made, const Error& error) {
  made.attr("code") = nb::str(errorCodeName(error.code()).data(), errorCodeName(error.code()).size());
  made.attr("message") = nb::str(error.message().c_str());
}

void raiseInPython(const Error& error) {
  const nb::object made = nb::handle(classOf(error.code()))(nb::str(error.what()));
  tellError(made, error);
  PyErr_SetObject(made.type().ptr(), made.ptr());
}

// "died", "left", ...: the others are the fault's words.
std::string_view nameOf(CommunicationFault fault) {
  constexpr std::array<std::string_view, 5> kNames = {"died", "left", "failed", "mismatch", "timed out"};
  return kNames[static_cast<size_t>(fault)];
}

void raiseInPython(const CommunicationError& error) {
  const std::string_view fault = nameOf(error.fault());
  const nb::object made = nb::handle(communication_error)(nb::str(error.what()));
  tellError(made, error);
  made.attr("rank") = nb::int_(error.rank());
  made.attr("fault") = nb::str(fault.data(), fault.size());
  PyErr_SetObject(communication_error, made.ptr());
}

void bindErrors(nb::module_& m) {
  const auto add = [&](const char* name, PyObject* bases) {
    PyObject* const made = PyErr_NewException(name, bases, nullptr);
    if (made == nullptr) throw nb::python_error();
    m.attr(name + std::string_view("tokamak.").size()) = nb::handle(made);
    return made;
  };
  error_base = add("tokamak.Error", PyExc_RuntimeError);
  nb::handle(error_base).attr("code") = "usage";  // of errors that Python raises; the library's say their own
  for (size_t i = 0; i < kErrorClasses.size(); ++i) {
    error_classes[i] =
        add(kErrorClasses[i].name, nb::make_tuple(nb::handle(error_base), nb::handle(*kErrorClasses[i].also)).ptr());
    const std::string_view code = errorCodeName(kErrorClasses[i].code);
    nb::handle(error_classes[i]).attr("code") = nb::str(code.data(), code.size());
  }
  communication_error = add("tokamak.CommunicationError", nb::make_tuple(nb::handle(error_base)).ptr());
  nb::handle(communication_error).attr("code") = "device";
  nb::register_exception_translator([](const std::exception_ptr& raised, void*) {
    try {
      std::rethrow_exception(raised);
    } catch (const CommunicationError& error) {
      raiseInPython(error);
    } catch (const Error& error) {
      raiseInPython(error);
    } catch (const Interrupted&) {
      return;  // Python's error is set
    } catch (const nb::cast_error&) {
      PyErr_SetString(PyExc_TypeError, "an entry of an argument has a type, or a size, that is not taken there");
    }
  });
}

// --- values ---

DataType typeNamed(const std::string& name) {
  const auto dtype = dataTypeFromName(name);
  TK_REQUIRE(dtype, Definition, "'{}' is no type", name);
  return *dtype;
}

/// A type as an argument of a call, which a name in quotes is not.
struct TypeArgument {
  DataType dtype;
};

/// Errors: Python's TypeError for what is no text, UnicodeEncodeError for half of a surrogate pair.
std::string utf8Of(nb::handle text) {
  if (!nb::isinstance<nb::str>(text))
    throw nb::type_error(fmt::format("a name is of type str, not {}", Py_TYPE(text.ptr())->tp_name).c_str());
  Py_ssize_t bytes = 0;
  const char* const data = PyUnicode_AsUTF8AndSize(text.ptr(), &bytes);
  if (data == nullptr) throw nb::python_error();
  return {data, static_cast<size_t>(bytes)};
}

template <class T>
bool areAll(nb::handle list) {
  for (const nb::handle each : list) {
    if (!nb::isinstance<T>(each)) return false;
  }
  return true;
}

Val* valueIn(const Definition& definition, nb::handle given) { return definition.own(nb::cast<const Value&>(given)); }

int64_t integerOf(nb::handle given) {
  int64_t number = 0;
  TK_REQUIRE(nb::try_cast(given, number), Definition, "an integer does not fit 64 bits");
  return number;
}

FieldValue fieldOf(Definition& definition, nb::handle given);

bool isList(nb::handle given) { return nb::isinstance<nb::list>(given) || nb::isinstance<nb::tuple>(given); }

Scalar* scalarIn(Definition& definition, nb::handle given) {
  const FieldValue field = isList(given) ? FieldValue() : fieldOf(definition, given);
  if (const auto* scalar = std::get_if<Scalar*>(&field)) return *scalar;
  if (const auto* number = std::get_if<int64_t>(&field)) return definition.integer(*number);
  TK_RAISE(Definition, "a list holds tensors, or integers and scalars; this one has {}", Py_TYPE(given.ptr())->tp_name);
}

FieldValue listOf(Definition& definition, nb::handle given) {
  if (nb::len(given) > 0 && areAll<nb::bool_>(given)) return nb::cast<std::vector<bool>>(given);
  if (areAll<nb::int_>(given)) {
    std::vector<int64_t> numbers;
    for (const nb::handle each : given) numbers.push_back(integerOf(each));
    return numbers;
  }
  bool has_tensors = false;
  for (const nb::handle each : given)
    has_tensors = has_tensors || (nb::isinstance<Value>(each) && nb::cast<const Value&>(each).tensor() != nullptr);
  if (has_tensors) {
    std::vector<Val*> tensors;
    for (const nb::handle each : given) {
      TK_REQUIRE(nb::isinstance<Value>(each), Definition, "a list of tensors has {} in it",
                 Py_TYPE(each.ptr())->tp_name);
      tensors.push_back(valueIn(definition, each));
    }
    return tensors;
  }
  std::vector<Scalar*> scalars;
  for (const nb::handle each : given) scalars.push_back(scalarIn(definition, each));
  return scalars;
}

FieldValue fieldOf(Definition& definition, nb::handle given) {
  if (given.is_none()) return std::monostate{};
  if (nb::isinstance<Value>(given)) {
    Val* const val = valueIn(definition, given);
    if (asTensor(val) != nullptr) return val;
    return static_cast<Scalar*>(val);
  }
  if (nb::isinstance<TypeArgument>(given)) return nb::cast<const TypeArgument&>(given).dtype;
  if (nb::isinstance<nb::bool_>(given)) return nb::cast<bool>(given);
  if (nb::isinstance<nb::int_>(given)) return integerOf(given);
  if (nb::isinstance<nb::float_>(given)) return nb::cast<double>(given);
  if (nb::isinstance<nb::str>(given)) return utf8Of(given);
  if (isList(given)) return listOf(definition, given);
  throw nb::type_error(
      fmt::format("a {} is no argument of an op; legal are tensors, scalars, numbers, names, types and "
                  "lists of these",
                  Py_TYPE(given.ptr())->tp_name)
          .c_str());
}

// A tensor, or a list of tensors, of the schedule; numbers, names and flags stay as they are.
FieldValue commandFieldOf(Definition& definition, nb::handle given) {
  if (nb::isinstance<Value>(given)) return definition.scheduledTensor(nb::cast<const Value&>(given));
  const bool is_list = nb::isinstance<nb::list>(given) && nb::len(given) > 0;
  if (!is_list || !areAll<Value>(given)) return fieldOf(definition, given);
  std::vector<Val*> tensors;
  for (const nb::handle each : given) tensors.push_back(definition.scheduledTensor(nb::cast<const Value&>(each)));
  return tensors;
}

using Convert = FieldValue (*)(Definition&, nb::handle);

// `names` holds what the arguments are called.
std::vector<CallArgument> argumentsOf(Definition& definition, const nb::list& positional, const nb::dict& named,
                                      std::deque<std::string>& names, Convert convert) {
  std::vector<CallArgument> arguments;
  for (const nb::handle each : positional) arguments.push_back({{}, convert(definition, each)});
  for (const auto& [key, value] : named)
    arguments.push_back({names.emplace_back(utf8Of(key)), convert(definition, value)});
  return arguments;
}

std::optional<Value> commandOf(Definition& definition, const std::string& name, const nb::dict& named) {
  std::deque<std::string> names;
  return definition.command(name, argumentsOf(definition, nb::list(), named, names, commandFieldOf));
}

std::vector<Value> callOf(Definition& definition, const std::string& name, const nb::list& positional,
                          const nb::dict& named) {
  std::deque<std::string> names;
  return definition.call(name, argumentsOf(definition, positional, named, names, fieldOf));
}

nb::object pythonNumberOf(const ScalarValue& value) {
  return std::visit([](auto number) { return nb::object(nb::cast(number)); }, value);
}

ScalarValue numberFrom(nb::handle given) {
  if (nb::isinstance<nb::bool_>(given)) return nb::cast<bool>(given);
  if (nb::isinstance<nb::int_>(given)) return integerOf(given);
  return nb::cast<double>(given);
}

void bindKnownSizes(nb::module_& m) {
  nb::class_<KnownSizes>(m, "KnownSizes")
      .def("__init__", [](KnownSizes* made,
                          std::shared_ptr<Definition> definition) { new (made) KnownSizes(std::move(definition)); })
      .def("bind", &KnownSizes::bind, "tensor"_a, "sizes"_a)
      .def("bind_number",
           [](KnownSizes& it, const Value& scalar, nb::handle number) { it.bindNumber(scalar, numberFrom(number)); })
      .def("evaluate", [](const KnownSizes& it, const Value& scalar) {
        const std::optional<ScalarValue> value = it.evaluate(scalar);
        return value ? pythonNumberOf(*value) : nb::none();
      });
}

void bindDefinition(nb::module_& m) {
  nb::class_<TypeArgument>(m, "TypeArgument").def("__init__", [](TypeArgument* made, const std::string& name) {
    new (made) TypeArgument{typeNamed(name)};
  });
  nb::class_<Value>(m, "Value")
      .def_prop_ro("is_tensor", [](const Value& it) { return it.tensor() != nullptr; })
      .def_prop_ro("ndim", [](const Value& it) { return it.tensor() == nullptr ? 0 : shapeOf(*it.tensor()).size(); })
      .def_prop_ro("dtype", [](const Value& it) { return std::string(dataTypeName(it.val->dtype())); })
      .def_prop_ro("identity", [](const Value& it) { return reinterpret_cast<uintptr_t>(it.val); })
      .def("is_same", [](const Value& it, const Value& other) { return it.val == other.val; })
      .def_prop_ro("constant",
                   [](const Value& it) {
                     const auto* const scalar = it.tensor() == nullptr ? static_cast<Scalar*>(it.val) : nullptr;
                     return scalar != nullptr && scalar->isConstant() ? pythonNumberOf(scalar->value()) : nb::none();
                   })
      .def("__str__", [](const Value& it) {
        return it.tensor() == nullptr ? toString(*static_cast<Scalar*>(it.val)) : toString(*it.tensor());
      });
  nb::class_<Definition>(m, "Definition")
      .def(nb::new_([](const std::string& name) { return std::make_shared<Definition>(name); }))
      .def(
          "input",
          [](Definition& it, const std::string& dtype, std::vector<int64_t> sizes,
             std::vector<std::optional<bool>> contiguity, std::vector<int64_t> stride_order) {
            return it.input({typeNamed(dtype), std::move(sizes), std::move(contiguity), std::move(stride_order)});
          },
          "dtype"_a, "sizes"_a, "contiguity"_a, "stride_order"_a)
      .def("scalar_input", [](Definition& it, const std::string& dtype) { return it.scalarInput(typeNamed(dtype)); })
      .def("constant",
           [](Definition& it, nb::handle number, const std::string& dtype) {
             const FieldValue field = fieldOf(it, number);
             if (const auto* flag = std::get_if<bool>(&field)) return it.constant(*flag, typeNamed(dtype));
             if (const auto* integer = std::get_if<int64_t>(&field)) return it.constant(*integer, typeNamed(dtype));
             if (const auto* real = std::get_if<double>(&field)) return it.constant(*real, typeNamed(dtype));
             throw nb::type_error("a constant is a number");
           })
      .def("call", &callOf, "name"_a, "positional"_a, "named"_a)
      .def("size",
           [](Definition& it, const Value& value, int64_t axis) {
             it.own(value);
             TK_REQUIRE(value.tensor() != nullptr, Definition, "size: a scalar has none");
             return it.size(*value.tensor(), axis);
           })
      .def("output", &Definition::output, "value"_a, "stride_order"_a)
      .def("update", &Definition::update, "value"_a, "input"_a)
      .def("text", [](const Definition& it) { return printFusion(it.fusion()); })
      .def("command", &commandOf, "name"_a, "named"_a)
      .def("cast", [](Definition& it, const Value& value,
                      const std::string& dtype) { return it.cast(value, typeNamed(dtype)); })
      .def_prop_ro("input_count", [](const Definition& it) { return it.fusion().inputs().size(); })
      .def("drop_schedule", &Definition::dropSchedule)
      .def_prop_ro("is_scheduled", &Definition::isScheduled)
      .def("scheduled_text", [](const Definition& it) { return printFusion(it.program()); })
      .def("scheduled_tensor", &Definition::scheduledTensorText)
      .def("scheduled_tensors", &Definition::scheduledTensors)
      .def("loops", [](Definition& it, const Value& value) { return it.scheduledTensor(value)->loop().size(); })
      .def("inline_at",
           [](Definition& it, const std::vector<Value>& values, int64_t position, bool is_best_effort) {
             it.inlineAt(values, position, is_best_effort ? InlineEffort::Best : InlineEffort::All);
           })
      .def("may_be_inlined",
           [](Definition& it, const Value& value) {
             const TensorView* const tensor = it.scheduledTensor(value);
             return tensor->definition() != nullptr && !tensor->uses().empty();
           })
      .def(
          "axes",
          [](Definition& it, const Value& value, const std::string& domain) {
            nb::list axes;
            for (const AxisText& each : it.axes(value, domain))
              axes.append(nb::make_tuple(each.text, each.extent, each.is_reduction));
            return axes;
          },
          "tensor"_a, "domain"_a)
      .def("is_reduction", [](Definition& it, const Value& value) {
        const TensorView* const tensor = it.scheduledTensor(value);
        return tensor->definition() != nullptr &&
               std::ranges::any_of(tensor->domain().logical,
                                   [](const IterDomain* axis) { return axis->isReduction(); });
      });
}

// --- arrays ---

// Errors: Definition for memory that the elements do not lie in.
void requireInside(const OutputLayout& layout) {
  const auto isNegative = [](int64_t each) { return each < 0; };
  TK_REQUIRE(layout.sizes.size() == layout.strides.size() && layout.sizes.size() <= Tensor::kMaxRank, Definition,
             "Array: {} sizes and {} strides; as many of both are legal, up to {}", layout.sizes.size(),
             layout.strides.size(), Tensor::kMaxRank);
  TK_REQUIRE(std::ranges::none_of(layout.sizes, isNegative) && std::ranges::none_of(layout.strides, isNegative) &&
                 layout.bytes >= 0 && layout.offset >= 0,
             Definition, "Array: a size, a stride, the bytes or the offset are negative");
  const int64_t bytes = sizeOf(layout.dtype);
  __int128 end = layout.offset;
  if (std::ranges::find(layout.sizes, 0) != layout.sizes.end()) return;
  for (size_t i = 0; i < layout.sizes.size(); ++i) {
    end += static_cast<__int128>(layout.sizes[i] - 1) * layout.strides[i] * bytes;
    TK_REQUIRE(end <= layout.bytes, Definition, "Array: axis {} ends beyond the {} bytes", i, layout.bytes);
  }
  TK_REQUIRE(end + bytes <= layout.bytes, Definition, "Array: the last element ends beyond the {} bytes", layout.bytes);
}

OutputLayout layoutFrom(const nb::tuple& told) {
  constexpr size_t kEntries = 7;
  TK_REQUIRE(nb::len(told) == kEntries, Definition,
             "Array: a layout is (memory, bytes, of, offset, type, sizes, strides); got {} entries", nb::len(told));
  OutputLayout layout;
  layout.bytes = nb::cast<int64_t>(told[1]);
  layout.offset = nb::cast<int64_t>(told[3]);
  layout.dtype = typeNamed(utf8Of(told[4]));
  layout.sizes = nb::cast<std::vector<int64_t>>(told[5]);
  layout.strides = nb::cast<std::vector<int64_t>>(told[6]);
  requireInside(layout);
  return layout;
}

std::vector<int64_t> sizesOf(std::span<const int64_t> numbers) { return {numbers.begin(), numbers.end()}; }

// Of an array on a GPU whose data is there: nobody waits.
nb::dict cudaInterfaceOf(const OwnArray& array) {
  if (array.place().type != dlpack::DeviceType::Cuda)
    throw nb::attribute_error("__cuda_array_interface__: the array is on the host");
  const Tensor& tensor = array.tensor();
  if (tensor.dtype() == DataType::BF16)
    throw nb::attribute_error("__cuda_array_interface__ has no word for bf16; __dlpack__ has one");
  {
    const Unlocked unlocked;
    tensor.waitReady();
  }
  const int64_t bytes = sizeOf(tensor.dtype());
  std::vector<int64_t> strides = sizesOf(tensor.strides());
  for (int64_t& each : strides) each *= bytes;
  const char kind = tensor.dtype() == DataType::Bool ? 'b' : isFloatingType(tensor.dtype()) ? 'f' : 'i';
  nb::dict told;
  told["version"] = 3;
  told["shape"] = nb::tuple(nb::cast(sizesOf(tensor.sizes())));
  told["strides"] = nb::tuple(nb::cast(strides));
  told["typestr"] = fmt::format("{}{}{}", kind == 'b' ? '|' : '<', kind, bytes);
  told["data"] = nb::make_tuple(reinterpret_cast<uintptr_t>(tensor.data()), false);
  told["stream"] = nb::none();
  return told;
}

std::shared_ptr<OpenedDevice> openCpu(int64_t threads, const std::string& kernels, int64_t memory_limit,
                                      bool poisons_memory) {
  CpuDeviceOptions options = {.threads = threads, .memory_limit = memory_limit, .poisons_memory = poisons_memory};
  options.runner = tools::kernelRunnerNamed(kernels);
  // As the processor's: what runs elsewhere is checked as it runs here.
  options.target = cpuTarget(threads > 0 ? threads : usableProcessors());
  return std::make_shared<OpenedDevice>(openCpuDevice(options));
}

// As the process would have got the word from a shell.
std::string wordOf(nb::handle text) {
  if (!nb::isinstance<nb::str>(text)) {
    throw nb::type_error(fmt::format("words are of type str; this one is a {}", Py_TYPE(text.ptr())->tp_name).c_str());
  }
  const nb::object bytes = nb::steal(PyUnicode_EncodeFSDefault(text.ptr()));
  char* word = nullptr;
  if (!bytes.is_valid() || PyBytes_AsStringAndSize(bytes.ptr(), &word, nullptr) != 0) throw nb::python_error();
  return word;
}

void bindArrays(nb::module_& m) {
  nb::class_<OpenedDevice>(m, "Device").def_prop_ro("name", [](const OpenedDevice& it) {
    return it.device->properties().name;
  });
  m.def("open_cpu", &openCpu, "threads"_a = 0, "kernels"_a = "compiled", "memory_limit"_a = 0,
        "poisons_memory"_a = false);
  m.def("open_interpreter",
        [] { return std::make_shared<OpenedDevice>(openCpuDevice({.runner = KernelRunner::Interpreted})); });
  m.def(
      "offer_open_blas", [](nb::handle file) { OpenBlas::offer(wordOf(file)); }, "file"_a,
      "A file to load for matrix products where the machine has no OpenBLAS; without effect after the first product.");
  m.def(
      "open_cuda",
      [](int64_t ordinal, int64_t memory_limit, bool poisons_memory) {
        return std::make_shared<OpenedDevice>(
            openCudaDevice(ordinal, {.memory_limit = memory_limit, .poisons_memory = poisons_memory}));
      },
      "ordinal"_a, "memory_limit"_a = 0, "poisons_memory"_a = false);
  nb::class_<OwnArray>(m, "Array")
      .def(
          "__init__",
          [](OwnArray* made, std::shared_ptr<OpenedDevice> device, const nb::tuple& layout, nb::handle stream) {
            new (made) OwnArray(std::move(device), layoutFrom(layout), callersStreamOf(stream));
          },
          "device"_a, "layout"_a, "stream"_a.none() = nb::none())
      .def_prop_ro(
          "shape", [](const OwnArray& it) { return nb::tuple(nb::cast(sizesOf(it.tensor().sizes()))); },
          nb::sig("def shape(self) -> tuple[int, ...]"))
      .def_prop_ro(
          "strides", [](const OwnArray& it) { return nb::tuple(nb::cast(sizesOf(it.tensor().strides()))); },
          nb::sig("def strides(self) -> tuple[int, ...]"))
      .def_prop_ro("ndim", [](const OwnArray& it) { return it.tensor().rank(); })
      .def_prop_ro(
          "dtype",
          [](const OwnArray& it) {
            const nb::object types = nb::module_::import_("tokamak._types").attr("DataType");
            return types(std::string(dataTypeName(it.tensor().dtype())));
          },
          nb::sig("def dtype(self) -> tokamak._types.DataType"))
      .def("__repr__",
           [](const OwnArray& it) {
             return fmt::format("<tokamak.Array of {}[{}] on {}>", dataTypeName(it.tensor().dtype()),
                                fmt::join(it.tensor().sizes(), ", "), it.device()->device->properties().name);
           })
      .def_prop_ro("__cuda_array_interface__", &cudaInterfaceOf)
      .def("__dlpack_device__",
           [](const OwnArray& it) { return nb::make_tuple(static_cast<int>(it.place().type), it.place().id); })
      .def(
          "__dlpack__",
          [](const OwnArray& it, std::optional<int64_t> stream, const nb::object& max_version,
             const nb::object& /*dl_device*/, const nb::object& /*copy*/) {
            const bool is_versioned = !max_version.is_none() && nb::cast<int>(max_version[0]) >= 1;
            return it.capsule(stream, is_versioned);
          },
          nb::kw_only(), "stream"_a.none() = nb::none(), "max_version"_a.none() = nb::none(),
          "dl_device"_a.none() = nb::none(), "copy"_a.none() = nb::none());
  m.def("device_of", [](const nb::list& inputs) {
    const dlpack::Device device = deviceOfArrays(objectsOf(inputs));
    return nb::make_tuple(static_cast<int>(device.type), device.id);
  });
}

// --- the command line ---

int mainOf(const nb::list& arguments) {
  std::vector<std::string> words = {"tokamak"};
  for (const nb::handle each : arguments) words.push_back(wordOf(each));
  std::vector<const char*> pointers;
  for (const std::string& word : words) pointers.push_back(word.c_str());
  const Unlocked unlocked;
  return tools::runProcess(static_cast<int>(pointers.size()), pointers.data());
}

}  // namespace

NB_MODULE(_tokamak, m) {
  nb::set_leak_warnings(false);  // threads that the interpreter does not wait for keep what they have
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(&Unlocked::endAll));
  bindErrors(m);
  bindDefinition(m);
  bindKnownSizes(m);
  bindArrays(m);
  bindCommunicators(m);
  bindPrograms(m);
  bindReference(m);
  bindSymbolicSizes(m);
  bindXla(m);
  bindHeuristics(m);
  bindInside(m);
  m.def("main", &mainOf, "arguments"_a, nb::sig("def main(arguments: list[str]) -> int"),
        "The command line, of a process that is nothing else: gives the exit code.");
  m.def("callables", &callablesOf, "What can be called by name: parameters, results and meaning of each.");
}

}  // namespace tokamak::python
