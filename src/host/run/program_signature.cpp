#include "host/run/program_signature.h"

#include <algorithm>

#include <fmt/format.h>

#include "analysis/bind_shape.h"
#include "base/require.h"
#include "base/text.h"
#include "host/run/alias_checks.h"
#include "ir/ops/host/post_on_stream.h"

namespace tokamak {

namespace {

bool contains(const Tensor& tensor, const void* address) {
  const auto* first = static_cast<const std::byte*>(tensor.data());
  return address >= first && address < first + std::max<int64_t>(spanBytes(tensor), 1);
}

}  // namespace

int64_t spanBytes(const Tensor& tensor) { return spanOf(tensor.sizes(), tensor.strides()) * sizeOf(tensor.dtype()); }

ProgramSignature::ProgramSignature(const HostIrContainer& program, const Device& device)
    : program_(program), device_(device) {
  for (Val* input : program_.inputs()) {
    if (TensorView* tensor = asTensor(input)) tensors_.push_back(tensor);
    if (Scalar* scalar = asScalar(input)) scalars_.push_back(scalar);
  }
  const auto inputNumber = [&](TensorView* tensor) {
    const auto found = std::ranges::find(tensors_, program_.resolveAlias(tensor));
    return found == tensors_.end() ? -1 : found - tensors_.begin();
  };
  for (TensorView* output : program_.outputs()) in_place_of_.push_back(inputNumber(output));
  is_updated_.resize(tensors_.size(), false);
  forEachStatement(program_.topLevel(), [&](const Expr& expr) {
    for (TensorView* out : computesResults(expr) ? tensorsOf(expr.outputs()) : std::vector<TensorView*>()) {
      if (const int64_t number = inputNumber(out); number >= 0) is_updated_[static_cast<size_t>(number)] = true;
    }
  });
}

CallValues ProgramSignature::bind(const std::vector<std::pair<Val*, RunValue>>& values) const {
  CallValues call;
  const auto& program_outputs = program_.outputs();
  call.inputs.resize(tensors_.size());
  call.outputs.resize(program_outputs.size());
  for (const auto& [val, value] : values) {
    if (Scalar* scalar = asScalar(val)) {
      TK_REQUIRE(&scalar->fusion() == &program_ && (program_.isInput(scalar) || scalar->isSymbol()), Bind,
                 "{} is no input of the program", toString(*scalar));
      TK_REQUIRE(std::ranges::find(call.scalars, scalar, &std::pair<Scalar*, ScalarValue>::first) == call.scalars.end(),
                 Bind, "{} is given twice", toString(*scalar));
      TK_REQUIRE(std::holds_alternative<ScalarValue>(value), Bind, "input {} is a scalar, but a tensor was given",
                 toString(*scalar));
      call.scalars.emplace_back(scalar, convertValue(std::get<ScalarValue>(value), scalar->dtype()));
      continue;
    }
    TensorView* tensor = asTensor(val);
    TK_REQUIRE(tensor != nullptr && std::holds_alternative<Tensor>(value), Bind,
               "{} is a tensor, but a scalar was given", tensor == nullptr ? "a stream" : toString(*tensor));
    const auto input = std::ranges::find(tensors_, tensor);
    const auto output = std::ranges::find(program_outputs, tensor);
    TK_REQUIRE(input != tensors_.end() || output != program_outputs.end(), Bind,
               "{} is neither an input nor an output of the program", toString(*tensor));
    Tensor& slot = input != tensors_.end() ? call.inputs[static_cast<size_t>(input - tensors_.begin())]
                                           : call.outputs[static_cast<size_t>(output - program_outputs.begin())];
    TK_REQUIRE(!slot.isDefined(), Bind, "{} is given twice", toString(*tensor));
    slot = std::get<Tensor>(value);
  }
  // Whatever order they were given in, the plan is the same.
  std::ranges::sort(call.scalars, {}, [](const auto& given) { return given.first->id(); });
  return call;
}

// What a plan's key does not tell: that everything is there, on this device, and apart. Takes nothing from the heap.
void ProgramSignature::requirePlaces(std::span<const Tensor> inputs, std::span<const Tensor> outputs) const {
  const auto requireDevice = [&](const TensorView& tv, const Tensor& tensor) {
    if (&tensor.device() == &device_) return;
    const std::string& given = tensor.device().properties().name;
    const std::string& wanted = device_.properties().name;
    TK_RAISE(Bind, "{}: the given tensor is on device {}, the program runs on {}", toString(tv), given,
             given == wanted ? "another Device object of that name" : wanted);
  };
  for (size_t i = 0; i < inputs.size(); ++i) {
    TK_REQUIRE(inputs[i].isDefined(), Bind, "input {} is missing", toString(*tensors_[i]));
    requireDevice(*tensors_[i], inputs[i]);
    TK_REQUIRE(!is_updated_[i] || !inputs[i].buffer()->isReadOnly(), Bind,
               "input {} is updated in place, but the given tensor may not be written", toString(*tensors_[i]));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    for (size_t j = 0; j < inputs.size() && is_updated_[i]; ++j) {
      TK_REQUIRE(j == i || !sharesBytes(inputs[i], inputs[j]), Bind,
                 "input {} is updated in place, but the tensor given for it overlaps the one given for input {}",
                 toString(*tensors_[i]), toString(*tensors_[j]));
    }
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].isDefined()) continue;
    TensorView* tv = program_.outputs()[i];
    requireDevice(*tv, outputs[i]);
    TK_REQUIRE(!outputs[i].buffer()->isReadOnly(), Bind, "output {}: the given tensor may not be written",
               toString(*tv));
    for (size_t j = 0; j < inputs.size(); ++j) {
      const bool is_in_place = static_cast<int64_t>(j) == in_place_of_[i];
      TK_REQUIRE(!is_in_place || isSameMemory(outputs[i], inputs[j]), Bind,
                 "output {} lies in the memory of input {}; give that input's tensor for it, or none", toString(*tv),
                 toString(*tensors_[j]));
      TK_REQUIRE(
          is_in_place || !sharesBytes(outputs[i], inputs[j]), Bind,
          "the tensor given for output {} overlaps the one given for input {}; declare an alias for an in-place update",
          toString(*tv), toString(*tensors_[j]));
    }
    for (size_t j = 0; j < i; ++j) {
      TensorView* other = program_.outputs()[j];
      if (!outputs[j].isDefined()) continue;
      if (program_.resolveAlias(tv) == program_.resolveAlias(other)) {
        TK_REQUIRE(isSameMemory(outputs[i], outputs[j]), Bind,
                   "outputs {} and {} are one tensor by alias, but two were given", toString(*other), toString(*tv));
      } else {
        TK_REQUIRE(!sharesBytes(outputs[i], outputs[j]), Bind, "the tensors given for outputs {} and {} overlap",
                   toString(*other), toString(*tv));
      }
    }
  }
}

void ProgramSignature::validate(const CallValues& call, ScalarBindings& scalars) const {
  scalars.insert(call.scalars.begin(), call.scalars.end());
  const auto check = [&](const TensorView& tv, const Tensor& tensor) {
    TK_REQUIRE(tensor.dtype() == tv.dtype(), Bind, "{} takes elements of type {}, but the given tensor has {}",
               toString(tv), dataTypeName(tv.dtype()), dataTypeName(tensor.dtype()));
    // Where the host reads device memory, any memory will do.
    TK_REQUIRE(tensor.kind() == tv.memoryKind() || device_.properties().host_reads_device_memory, Bind,
               "{} takes {} memory, but the given tensor has {}", toString(tv), memoryKindName(tv.memoryKind()),
               memoryKindName(tensor.kind()));
  };
  const RankOrigin* origin = program_.rankOrigin();
  const auto describePart = [&](size_t i) { return origin == nullptr ? std::string() : origin->parts[i]; };
  for (size_t i = 0; i < tensors_.size(); ++i) {
    const auto describe = [&] { return describePart(i); };
    const ErrorNote note(describe);
    check(*tensors_[i], call.inputs[i]);
    bindShape(*tensors_[i], call.inputs[i].sizes(), scalars);
  }
  for (Val* input : program_.inputs()) {
    const Scalar* scalar = asScalar(input);
    TK_REQUIRE(scalar == nullptr || scalars.contains(scalar), Bind, "input {} is missing", toString(*scalar));
  }
  // What inputs do not tell, such as both extents of ( a * b ).
  for (const auto& [symbol, size] : program_.defaultSizes()) scalars.emplace(symbol, ScalarValue{size});
  for (size_t i = 0; i < tensors_.size(); ++i) {
    const auto describe = [&] { return describePart(i); };
    const ErrorNote note(describe);
    requireLayout(*tensors_[i], call.inputs[i].sizes(), call.inputs[i].strides(), scalars);
  }
  for (size_t i = 0; i < tensors_.size(); ++i) {
    const Tensor& given = call.inputs[i];
    TK_REQUIRE(
        !is_updated_[i] || !repeatsElements(given, shapeOf(*tensors_[i])), Bind,
        "input {} is updated in place, but two elements of the given tensor share memory (sizes [{}], strides [{}])",
        toString(*tensors_[i]), joined(given.sizes()), joined(given.strides()));
  }
  for (size_t i = 0; i < call.outputs.size(); ++i) {
    if (!call.outputs[i].isDefined()) continue;
    const TensorView& tv = *program_.outputs()[i];
    const Tensor& given = call.outputs[i];
    check(tv, given);
    const std::vector<int64_t> sizes = sizesOf(tv, scalars);
    TK_REQUIRE(std::ranges::equal(sizes, given.sizes()), Bind, "output {} has sizes [{}], but the given tensor [{}]",
               toString(tv), joined(sizes), joined(given.sizes()));
    const auto negative = std::ranges::find_if(given.strides(), [](int64_t stride) { return stride < 0; });
    TK_REQUIRE(negative == given.strides().end(), Bind,
               "output {}: the stride of axis {} is {}; strides cannot be negative", toString(tv),
               negative - given.strides().begin(), *negative);
    // One stored element stands for an expanded axis, in the caller's memory, too.
    TK_REQUIRE(!repeatsElements(given, shapeOf(tv)), Bind,
               "output {}: two elements of the given tensor share memory (sizes [{}], strides [{}])", toString(tv),
               joined(given.sizes()), joined(given.strides()));
  }
}

bool ProgramSignature::isGiven(const CallValues& call, size_t output) const {
  return call.outputs[output].isDefined() && !isInPlace(output);
}

// Inputs that outputs are given for in place are among the inputs already.
void ProgramSignature::addAccesses(OrderedCall& ordered, std::span<const Tensor> inputs,
                                   std::span<const Tensor> outputs) const {
  ordered.clear();
  for (size_t i = 0; i < inputs.size(); ++i)
    ordered.add(inputs[i], is_updated_[i] ? MemoryAccess::Update : MemoryAccess::Read);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].isDefined() && !isInPlace(i)) ordered.add(outputs[i], MemoryAccess::Write);
  }
}

// What the caller gave that the address lies in.
const Tensor& memoryAt(const CallValues& call, const void* address) {
  for (const std::vector<Tensor>* tensors : {&call.inputs, &call.outputs}) {
    for (const Tensor& tensor : *tensors) {
      if (tensor.isDefined() && contains(tensor, address)) return tensor;
    }
  }
  TK_RAISE(Internal, "an output lies in no memory that the caller gave");
}

}  // namespace tokamak
