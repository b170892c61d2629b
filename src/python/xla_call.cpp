#include "python/xla_call.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <map>
#include <mutex>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "base/error.h"
#include "base/require.h"
#include "device/tensor_copies.h"
#include "jit/open_device.h"
#include "python/arrays.h"
#include "python/xla_types.h"

namespace nb = nanobind;
using nb::literals::operator""_a;

namespace tokamak::python {

namespace {

// The programs that executables may ask for by key, and which process it is of those that were forked.
struct KnownPrograms {
  std::mutex mutex;
  std::map<std::string, std::weak_ptr<XlaProgram>, std::less<>> by_key;
};
std::atomic<KnownPrograms*> known_programs = new KnownPrograms();
std::atomic<int> forks = 0;

std::shared_ptr<XlaProgram> programOf(std::string_view key) {
  KnownPrograms& known = *known_programs;
  const std::lock_guard lock(known.mutex);
  const auto found = known.by_key.find(key);
  std::shared_ptr<XlaProgram> program = found == known.by_key.end() ? nullptr : found->second.lock();
  TK_REQUIRE(
      program != nullptr, Usage,
      "an executable of XLA calls program {}, which this process does not have; executables that another process "
      "made, and exported ones, are not legal: call tokamak.jax.call() in the process that runs",
      key);
  return program;
}

void addProgram(const std::shared_ptr<XlaProgram>& program) {
  KnownPrograms& known = *known_programs;
  const std::lock_guard lock(known.mutex);
  std::erase_if(known.by_key, [](const auto& each) { return each.second.expired(); });
  known.by_key[program->key()] = program;
}

void forgetPrograms() {
  known_programs = new KnownPrograms();  // another thread of the parent may have had the lock
  ++forks;
}

// How a scalar input is told: the first of its two numbers in the attribute.
enum class NumberKind : int64_t { Operand = 0, Integer = 1, Real = 2 };

// What one call site of an executable runs. XLA has it from the making of the executable to its end.
struct CallSite {
  std::shared_ptr<XlaProgram> program;
  std::vector<std::optional<ScalarValue>> numbers;  // for the scalar inputs; nothing: an operand
  int made_after_forks = forks;
};

const void* attributeNamed(const xla::Attributes& attributes, std::string_view name, xla::AttributeType type) {
  for (int64_t i = 0; i < attributes.size; ++i) {
    if (std::string_view(attributes.names[i]->data, attributes.names[i]->size) == name && attributes.types[i] == type)
      return attributes.values[i];
  }
  return nullptr;
}

size_t scalarCountOf(const XlaProgram& program) {
  return static_cast<size_t>(
      std::ranges::count_if(program.inputs(), [](Val* input) { return asTensor(input) == nullptr; }));
}

std::unique_ptr<CallSite> callSiteOf(const xla::Attributes& attributes) {
  const auto* const key =
      static_cast<const xla::Text*>(attributeNamed(attributes, "program", xla::AttributeType::String));
  TK_REQUIRE(key != nullptr, Usage, "a call of tokamak without the attribute 'program'; legal are those of jax.call()");
  auto site = std::make_unique<CallSite>();
  site->program = programOf({key->data, key->size});
  const auto* const told =
      static_cast<const xla::Array*>(attributeNamed(attributes, "numbers", xla::AttributeType::Array));
  const size_t scalars = scalarCountOf(*site->program);
  const size_t count = told == nullptr || told->type != xla::ElementType::I64 ? 0 : told->size;
  TK_REQUIRE(count == 2 * scalars, Usage,
             "the attribute 'numbers' has {} integers for {} scalar inputs; legal are two for each", count, scalars);
  for (size_t i = 0; i < scalars; ++i) {
    const int64_t* const pair = static_cast<const int64_t*>(told->data) + 2 * i;
    std::optional<ScalarValue>& number = site->numbers.emplace_back();
    if (pair[0] == static_cast<int64_t>(NumberKind::Integer)) number = pair[1];
    if (pair[0] == static_cast<int64_t>(NumberKind::Real)) number = std::bit_cast<double>(pair[1]);
  }
  return site;
}

DataType typeInXla(xla::ElementType type) {
  switch (type) {
    case xla::ElementType::Bool: return DataType::Bool;
    case xla::ElementType::I32: return DataType::I32;
    case xla::ElementType::I64: return DataType::I64;
    case xla::ElementType::F16: return DataType::F16;
    case xla::ElementType::F32: return DataType::F32;
    case xla::ElementType::F64: return DataType::F64;
    case xla::ElementType::BF16: return DataType::BF16;
  }
  TK_RAISE(Bind, "a buffer of XLA's element type {}; legal are bool, int32, int64, float16, bfloat16, float32, float64",
           static_cast<int32_t>(type));
}

// One execution of a call site.
class Execution {
 public:
  Execution(const xla::CallFrame& frame, const dlpack::Device& place, void* stream)
      : frame_(frame), place_(place), stream_(stream) {}

  void run(const CallSite& site) {
    const XlaProgram& program = *site.program;
    requireCounts(site);
    takeInputs(site);
    for (size_t i = 0; i < program.outputCount(); ++i) view(result(i), outputs_.emplace_back());
    for (size_t i = 0; i < program.updated().size(); ++i) requireUpdated(site, i);
    program.on(place_).run(inputs_, outputs_, numbers_, stream_);
  }

 private:
  const xla::Buffer& argument(size_t i) const { return *static_cast<const xla::Buffer*>(frame_.arguments.values[i]); }
  const xla::Buffer& result(size_t i) const { return *static_cast<const xla::Buffer*>(frame_.results.values[i]); }

  void requireCounts(const CallSite& site) const {
    const auto operands = static_cast<int64_t>(site.program->inputs().size()) -
                          std::ranges::count_if(site.numbers, [](const auto& each) { return each.has_value(); });
    const auto results = static_cast<int64_t>(site.program->outputCount() + site.program->updated().size());
    TK_REQUIRE(frame_.arguments.size == operands && frame_.results.size == results, Bind,
               "XLA gives {} buffers and takes {}; legal are {} and {}", frame_.arguments.size, frame_.results.size,
               operands, results);
  }

  void takeInputs(const CallSite& site) {
    const std::vector<Val*>& wanted = site.program->inputs();
    size_t operands = 0, scalars = 0;
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (asTensor(wanted[i]) != nullptr) {
        ArrayView& array = inputs_.emplace_back();
        view(argument(operands++), array);
        array.is_writeable = site.program->isUpdated(i);
        operands_.push_back(array.data);
        continue;
      }
      operands_.push_back(nullptr);
      const std::optional<ScalarValue>& number = site.numbers[scalars++];
      numbers_.push_back(number ? *number : read(site, argument(operands++)));
    }
  }

  void view(const xla::Buffer& buffer, ArrayView& array) const {
    TK_REQUIRE(buffer.rank <= static_cast<int64_t>(Tensor::kMaxRank), Bind, "{} axes; at most {} are legal",
               buffer.rank, Tensor::kMaxRank);
    array.data = buffer.data;
    array.dtype = typeInXla(buffer.type);
    array.device = place_;
    array.rank = static_cast<size_t>(buffer.rank);
    std::copy_n(buffer.sizes, array.rank, array.sizes.begin());
    fillRowMajorStrides(array.sizesOfAxes(), std::span(array.strides).first(array.rank));
  }

  // An array without axes that is a scalar. On a GPU the host waits for it.
  ScalarValue read(const CallSite& site, const xla::Buffer& buffer) const {
    TK_REQUIRE(buffer.rank == 0, Bind, "an array with {} axes for a scalar; legal are numbers and arrays without axes",
               buffer.rank);
    const DataType dtype = typeInXla(buffer.type);
    if (place_.type == dlpack::DeviceType::Cpu) return elementAt(buffer.data, dtype);
    tokamak::Device& device = site.program->on(place_).device();
    const Tensor tensor = Tensor::borrow(device, buffer.data, dtype, {}, {}, MemoryKind::Device);
    return elementAt(toHost(tensor, adoptCudaStream(device, stream_)).data(), dtype);
  }

  // XLA copies an input that is written, unless nobody else needs it.
  void requireUpdated(const CallSite& site, size_t i) const {
    const void* const written = operands_[site.program->updated()[i]];
    TK_REQUIRE(result(site.program->outputCount() + i).data == written, Unsupported,
               "input {} is updated, and XLA gives other memory for the result; legal is the input's own",
               site.program->updated()[i]);
  }

  const xla::CallFrame& frame_;
  const dlpack::Device place_;
  void* const stream_;
  std::vector<ArrayView> inputs_;
  std::vector<ArrayView> outputs_;
  std::vector<ScalarValue> numbers_;
  std::vector<const void*> operands_;  // per input; null for scalars
};

xla::Code codeOf(ErrorCode code) {
  switch (code) {
    case ErrorCode::Usage: return xla::Code::FailedPrecondition;
    case ErrorCode::Definition:
    case ErrorCode::Schedule:
    case ErrorCode::Bind: return xla::Code::InvalidArgument;
    case ErrorCode::OutOfMemory: return xla::Code::ResourceExhausted;
    case ErrorCode::Unsupported: return xla::Code::Unimplemented;
    default: return xla::Code::Internal;
  }
}

xla::Error* errorOf(const xla::Interface& interface, xla::Code code, const char* message) {
  xla::ErrorRequest request{.head = {.struct_size = sizeof(xla::ErrorRequest)}, .message = message, .code = code};
  return interface.create_error(&request);
}

enum class Platform : uint8_t { Cpu, Cuda };

// What a parent made stays in a child, where nobody would end its threads.
void destroyCallSite(void* object) {
  std::unique_ptr<CallSite> site(static_cast<CallSite*>(object));
  if (site->made_after_forks == forks) return;
  [[maybe_unused]] auto* const left = site.release();
}

// XLA numbers types for each platform.
template <Platform platform>
struct StateType {
  static inline xla::TypeId id;
  static inline xla::TypeInfo info = {.head = {.struct_size = sizeof(xla::TypeInfo)}, .destroy = &destroyCallSite};
};

template <Platform platform>
xla::Error* answerMetadata(const xla::CallFrame& frame) {
  xla::Metadata& metadata = *reinterpret_cast<xla::MetadataExtension*>(frame.head.extensions)->metadata;
  metadata.version = {
      .head = {.struct_size = sizeof(xla::Version)}, .major = xla::kMajorVersion, .minor = xla::kMinorVersion};
  metadata.traits = 0;
  metadata.state_type = StateType<platform>::id;
  return nullptr;
}

template <Platform platform>
xla::StateRequest stateRequest(const xla::CallFrame& frame) {
  return {.head = {.struct_size = sizeof(xla::StateRequest)},
          .context = frame.context,
          .stage = xla::Stage::Instantiate,
          .type = &StateType<platform>::id};
}

template <Platform platform>
xla::Error* instantiate(const xla::CallFrame& frame) {
  std::unique_ptr<CallSite> site = callSiteOf(frame.attributes);
  xla::StateRequest request = stateRequest<platform>(frame);
  request.state = site.get();
  xla::Error* const error = frame.interface->set_state(&request);
  if (error != nullptr) return error;
  [[maybe_unused]] auto* const given = site.release();  // to XLA
  return nullptr;
}

template <Platform platform>
xla::Error* execute(const xla::CallFrame& frame) {
  xla::StateRequest request = stateRequest<platform>(frame);
  if (xla::Error* const error = frame.interface->get_state(&request)) return error;
  const CallSite& site = *static_cast<const CallSite*>(request.state);
  TK_REQUIRE(site.made_after_forks == forks, Usage,
             "the executable was made before the process was forked; a child compiles again: jax.clear_caches()");
  dlpack::Device place;
  xla::StreamRequest stream{.head = {.struct_size = sizeof(xla::StreamRequest)}, .context = frame.context};
  if constexpr (platform == Platform::Cuda) {
    xla::OrdinalRequest ordinal{.head = {.struct_size = sizeof(xla::OrdinalRequest)}, .context = frame.context};
    if (xla::Error* const error = frame.interface->get_stream(&stream)) return error;
    if (xla::Error* const error = frame.interface->get_ordinal(&ordinal)) return error;
    place = {.type = dlpack::DeviceType::Cuda, .id = ordinal.ordinal};
  }
  Execution(frame, place, stream.stream).run(site);
  return nullptr;
}

// Called on threads of XLA's, which have no lock of Python's, by several at once.
template <Platform platform>
xla::Error* handle(xla::CallFrame* frame) {
  try {
    const xla::Extension* const extension = frame->head.extensions;
    if (extension != nullptr && extension->type == xla::ExtensionType::Metadata)
      return answerMetadata<platform>(*frame);
    switch (frame->stage) {
      case xla::Stage::Instantiate: return instantiate<platform>(*frame);
      case xla::Stage::Execute: return execute<platform>(*frame);
      default: return nullptr;
    }
  } catch (const Error& error) {
    return errorOf(*frame->interface, codeOf(error.code()), error.what());
  } catch (const std::exception& error) {
    return errorOf(*frame->interface, xla::Code::Internal, error.what());
  }
}

template <Platform platform>
nb::object handlerOf() {
  return nb::capsule(std::bit_cast<const void*>(&handle<platform>));
}

template <Platform platform>
nb::dict stateTypeOf() {
  nb::dict type;
  type["type_id"] = nb::capsule(&StateType<platform>::id);
  type["type_info"] = nb::capsule(&StateType<platform>::info);
  return type;
}

Platform platformNamed(const std::string& name) {
  TK_REQUIRE(name == "cpu" || name == "CUDA", Usage, "platform '{}' is none of XLA's here; legal are 'cpu' and 'CUDA'",
             name);
  return name == "cpu" ? Platform::Cpu : Platform::Cuda;
}

}  // namespace

XlaProgram::XlaProgram(std::string key, std::vector<std::shared_ptr<Compiled>> programs, std::vector<size_t> updated)
    : key_(std::move(key)), programs_(std::move(programs)), updated_(std::move(updated)) {
  TK_REQUIRE(!programs_.empty(), Usage, "XlaProgram: no program; legal is one for each device");
}

bool XlaProgram::isUpdated(size_t input) const { return std::ranges::find(updated_, input) != updated_.end(); }

Compiled& XlaProgram::on(const dlpack::Device& place) const {
  for (const std::shared_ptr<Compiled>& each : programs_) {
    if (each->place() == place) return *each;
  }
  TK_RAISE(Unsupported, "XLA runs a program on {}:{}, and it was compiled for other devices: trace it again",
           place.type == dlpack::DeviceType::Cpu ? "cpu" : "cuda", place.id);
}

void bindXla(nb::module_& m) {
  nb::class_<XlaProgram>(m, "XlaProgram", nb::is_weak_referenceable())
      .def(nb::new_([](std::string key, std::vector<std::shared_ptr<Compiled>> programs, std::vector<size_t> updated) {
             auto made = std::make_shared<XlaProgram>(std::move(key), std::move(programs), std::move(updated));
             addProgram(made);
             return made;
           }),
           "key"_a, "programs"_a, "updated"_a);
  m.def("xla_handler", [](const std::string& platform) {
    return platformNamed(platform) == Platform::Cpu ? handlerOf<Platform::Cpu>() : handlerOf<Platform::Cuda>();
  });
  m.def("xla_state_type", [](const std::string& platform) {
    return platformNamed(platform) == Platform::Cpu ? stateTypeOf<Platform::Cpu>() : stateTypeOf<Platform::Cuda>();
  });
  m.def("xla_forget_programs", &forgetPrograms);
}

}  // namespace tokamak::python
