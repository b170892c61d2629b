#include "tools/input_values.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <new>
#include <numbers>

#include <fmt/format.h>
#include <unistd.h>

#include "analysis/bind_shape.h"
#include "analysis/indexed_extents.h"
#include "base/half.h"
#include "base/require.h"
#include "base/text.h"
#include "device/tensor_copies.h"
#include "interop/npy.h"
#include "symbolic/symbols.h"
#include "tools/input_fill.h"
#include "tools/program_file.h"

namespace tokamak::tools {

namespace {

// SplitMix64: small, seedable, the same everywhere.
class RandomBits {
 public:
  explicit RandomBits(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31U);
  }
  double uniform() { return (static_cast<double>(next() >> 11U) + 0.5) * 0x1p-53; }
  double normal() {  // Box and Muller's transform
    if (has_spare_) {
      has_spare_ = false;
      return spare_;
    }
    const double radius = std::sqrt(-2.0 * std::log(uniform()));
    const double angle = 2.0 * std::numbers::pi * uniform();
    spare_ = radius * std::sin(angle);
    has_spare_ = true;
    return radius * std::cos(angle);
  }

 private:
  uint64_t state_;
  double spare_ = 0;
  bool has_spare_ = false;
};

template <class T>
void put(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof(T));
}

// Integers are drawn from [first, first + count).
struct IntegerRange {
  int64_t first = -8;
  uint64_t count = 17;

  int64_t draw(RandomBits& random) const { return first + static_cast<int64_t>(random.next() % count); }
};

void putRandom(RandomBits& random, DataType dtype, const IntegerRange& integers, std::byte* to) {
  switch (dtype) {
    case DataType::F64: return put(to, random.normal());
    case DataType::F32: return put(to, static_cast<float>(random.normal()));
    case DataType::F16: return put(to, toHalf(static_cast<float>(random.normal())));
    case DataType::BF16: return put(to, toBFloat16(static_cast<float>(random.normal())));
    case DataType::I32: return put(to, static_cast<int32_t>(integers.draw(random)));
    case DataType::I64: return put(to, integers.draw(random));
    case DataType::Bool: return put(to, static_cast<uint8_t>(random.next() & 1U));
  }
}

void putValue(const ScalarValue& value, DataType dtype, std::byte* to) {
  const ScalarValue element = convertValue(value, dtype);
  switch (dtype) {
    case DataType::F64: return put(to, asDouble(element));
    case DataType::F32: return put(to, static_cast<float>(asDouble(element)));
    case DataType::F16: return put(to, toHalf(static_cast<float>(asDouble(element))));
    case DataType::BF16: return put(to, toBFloat16(static_cast<float>(asDouble(element))));
    case DataType::I32: return put(to, static_cast<int32_t>(asInt(element)));
    case DataType::I64: return put(to, asInt(element));
    case DataType::Bool: return put(to, static_cast<uint8_t>(std::get<bool>(element) ? 1 : 0));
  }
}

struct Draw {
  RandomBits random;
  IntegerRange integers;
  int64_t elements;  // then they repeat
};

void putElement(const InputFill& fill, Draw& draw, DataType dtype, std::byte* to) {
  switch (fill.kind) {
    case InputFill::Kind::Normal: return putRandom(draw.random, dtype, draw.integers, to);
    case InputFill::Kind::Same: return putValue(fill.value, dtype, to);
    case InputFill::Kind::Uniform:
      return isFloatingType(dtype) ? putValue(draw.random.uniform(), dtype, to)
                                   : putRandom(draw.random, dtype, draw.integers, to);
  }
}

// In memory that host code may fill; where that is not the program's, the elements are copied there afterwards.
Tensor emptyLike(const TensorView& tv, std::span<const int64_t> sizes, Device& device,
                 const std::shared_ptr<Stream>& stream) {
  const MemoryKind kind = device.properties().host_reads_device_memory ? tv.memoryKind() : MemoryKind::Host;
  return emptyInput(tv, sizes, kind, device, stream);
}

// What indexes is drawn over all of what it indexes: a table of which a few rows are read stays in a cache.
IntegerRange rangeOf(const TensorView& tv, const IndexedExtents& indexed, const ScalarBindings& bindings) {
  std::optional<int64_t> least;
  for (const Scalar* extent : indexed.of(tv)) {
    const auto size = evaluate(*extent, bindings);
    if (size) least = std::min(least.value_or(INT64_MAX), asInt(*size));
  }
  if (!least) return {};
  return {.first = 0, .count = static_cast<uint64_t>(std::max<int64_t>(*least, 1))};
}

Tensor filledTensor(const TensorView& tv, const InputFill& fill, const ScalarBindings& bindings, Draw draw,
                    Device& device, const std::shared_ptr<Stream>& stream) {
  const std::vector<int64_t> sizes = sizesOf(tv, bindings);
  Tensor tensor = emptyLike(tv, sizes, device, stream);
  device.synchronize(*stream);
  auto* data = static_cast<std::byte*>(tensor.hostData());
  const int64_t width = sizeOf(tv.dtype());
  if (tensor.isContiguous() && tensor.numel() > draw.elements) {
    for (int64_t i = 0; i < draw.elements; ++i) putElement(fill, draw, tv.dtype(), data + i * width);
    const int64_t all = tensor.numel() * width;
    for (int64_t done = draw.elements * width; done < all; done *= 2)
      std::memcpy(data + done, data, static_cast<size_t>(std::min(done, all - done)));
  } else {
    forEachElement(sizes, tensor.strides(),
                   [&](int64_t offset) { putElement(fill, draw, tv.dtype(), data + offset * width); });
  }
  return toDevice(tensor, device, stream, tv.memoryKind());
}

// The file's elements in the layout the program requires.
Tensor fittingTensor(const TensorView& tv, const Tensor& read, Device& device, const std::shared_ptr<Stream>& stream) {
  TK_REQUIRE(read.dtype() == tv.dtype(), Bind, "{} takes elements of type {}, but its file holds {}", toString(tv),
             dataTypeName(tv.dtype()), dataTypeName(read.dtype()));
  Tensor tensor = emptyLike(tv, read.sizes(), device, stream);
  device.synchronize(*stream);
  const std::vector<std::byte> dense = denseBytes(read);
  auto* data = static_cast<std::byte*>(tensor.hostData());
  const int64_t bytes = sizeOf(tv.dtype());
  int64_t next = 0;
  forEachElement(read.sizes(), tensor.strides(), [&](int64_t offset) {
    std::memcpy(data + offset * bytes, dense.data() + next, static_cast<size_t>(bytes));
    next += bytes;
  });
  return toDevice(tensor, device, stream, tv.memoryKind());
}

// Whether an element can have this value. Those of floating types can have any, rounded.
bool holds(DataType dtype, const ScalarValue& value) {
  if (isFloatingType(dtype)) return true;
  const double number = asDouble(value);
  if (number != std::trunc(number)) return false;
  if (dtype == DataType::Bool) return number == 0 || number == 1;
  const double limit = dtype == DataType::I32 ? 0x1p31 : 0x1p63;
  return std::holds_alternative<int64_t>(value) ? dtype == DataType::I64 || (number >= -limit && number < limit)
                                                : number >= -limit && number < limit;
}

void requireHeld(const std::string& name, const std::string& text, DataType dtype, const ScalarValue& value) {
  const std::string_view legal = dtype == DataType::Bool  ? "0 or 1"
                                 : dtype == DataType::I32 ? "an integer of 32 bits"
                                                          : "an integer of 64 bits";
  TK_REQUIRE(holds(dtype, value), Usage, "--input {}={}: {} is of type {}; expected {}", name, text, name,
             dataTypeName(dtype), legal);
}

ScalarValue readNumber(const std::string& name, const std::string& text, DataType dtype) {
  const auto number = numberIn(text);
  TK_REQUIRE(number.has_value(), Usage, "--input {}={}: a number is expected", name, text);
  requireHeld(name, text, dtype, *number);
  return convertValue(*number, dtype);
}

Tensor readGiven(const TensorView& tv, const std::string& from, Device& device, const std::shared_ptr<Stream>& stream) {
  const NpyHalf half = tv.dtype() == DataType::BF16 ? NpyHalf::BFloat16 : NpyHalf::Refuse;
  if (from == "-") return readNpyFromStandardInput(device, stream, half);
  const bool is_there = ::access(from.c_str(), F_OK) == 0;
  TK_REQUIRE(is_there, Io,
             "--input {}={}: there is no such file; expected a .npy file, - for one on standard input, ones, zeros, "
             "rand, randn or a number",
             nameOf(tv), from);
  return readNpy(from, device, stream, half);
}

}  // namespace

void requireRandom(const InputValues& inputs, uint64_t seed) {
  TK_REQUIRE(inputs.is_drawn, Usage, "--seed {}: it has no effect, as no input is random; leave it out", seed);
}

// As many bytes as the elements take side by side: more than they take in memory where axes are expanded.
static std::vector<std::byte> roomFor(const Tensor& tensor) {
  const auto described = [&] { return fmt::format("{}[{}]", dataTypeName(tensor.dtype()), joined(tensor.sizes())); };
  int64_t bytes = 0;
  TK_REQUIRE(!__builtin_mul_overflow(tensor.numel(), sizeOf(tensor.dtype()), &bytes), OutOfMemory,
             "reading {}: its elements take more bytes than any memory has", described());
  try {
    return std::vector<std::byte>(static_cast<size_t>(bytes));
  } catch (const std::bad_alloc&) {
    TK_RAISE(OutOfMemory, "reading {}: there is no host memory for its {} bytes", described(), bytes);
  }
}

ScalarBindings givenExtents(Fusion& program, const std::vector<std::string>& sizes) {
  const std::map<std::string, int64_t> given = readSizes(program, sizes);
  ScalarBindings extents;
  for (const auto& [symbol, size] : program.defaultSizes()) extents[symbol] = size;
  for (Scalar* symbol : program.allSymbols()) {
    if (const auto found = given.find(symbol->name()); found != given.end()) extents[symbol] = found->second;
  }
  requireExtents(program, extents);
  return extents;
}

std::vector<RunValue> emptyInputs(const Fusion& program, const ScalarBindings& extents, Device& device,
                                  const std::shared_ptr<Stream>& stream) {
  std::vector<RunValue> values;
  for (Val* input : program.inputs()) {
    if (const TensorView* tensor = asTensor(input))
      values.emplace_back(emptyInput(*tensor, sizesOf(*tensor, extents), tensor->memoryKind(), device, stream));
    else
      values.emplace_back(convertValue(int64_t{1}, input->dtype()));
  }
  return values;
}

std::vector<std::pair<Val*, RunValue>> boundValues(const HostIrContainer& program, std::span<const RunValue> inputs,
                                                   const ScalarBindings& extents) {
  std::vector<std::pair<Val*, RunValue>> values;
  for (size_t i = 0; i < inputs.size(); ++i) values.emplace_back(program.inputs()[i], inputs[i]);
  for (Scalar* symbol : program.allSymbols()) {
    if (symbol->name().empty() || program.isInput(symbol)) continue;
    for (const auto& [known, value] : extents) {
      if (known->name() == symbol->name()) values.emplace_back(symbol, value);
    }
  }
  return values;
}

std::vector<std::byte> denseBytes(const Tensor& tensor) {
  std::vector<std::byte> dense = roomFor(tensor);
  copyDense(tensor, dense.data());
  return dense;
}

Tensor emptyInput(const TensorView& input, std::span<const int64_t> sizes, MemoryKind kind, Device& device,
                  const std::shared_ptr<Stream>& stream) {
  const std::vector<int64_t> strides = freshStrides(input, sizes);
  int64_t bytes = 0;
  TK_REQUIRE(!__builtin_mul_overflow(spanOf(sizes, strides), sizeOf(input.dtype()), &bytes), OutOfMemory,
             "{}: its size in bytes does not fit 63 bits", toString(input));
  return {Buffer::allocate(device, stream, bytes, kind), 0, input.dtype(), sizes, strides};
}

namespace {

// Which file says how large an extent is.
class SizeSources {
 public:
  /// Errors: Bind where two files say different sizes.
  void take(const TensorView& tv, std::span<const int64_t> sizes, const std::string& option) {
    const Axes axes = shapeOf(tv);
    if (axes.size() != sizes.size()) return;
    for (size_t i = 0; i < axes.size(); ++i) {
      const Scalar* extent = axes[i]->visibleExtent();
      if (!extent->isSymbol()) continue;
      const auto [source, is_new] =
          sources_.try_emplace(extent, Source{fmt::format("{}, axis {} of {}", option, i, toString(tv)), sizes[i]});
      TK_REQUIRE(is_new || source->second.size == sizes[i], Bind,
                 "{}: axis {} of its file has size {}, but {} is {} by {}", toString(tv), i, sizes[i],
                 toString(*extent), source->second.size, source->second.text);
    }
  }
  const std::string& of(const Scalar& extent) const { return sources_.at(&extent).text; }

 private:
  struct Source {
    std::string text;
    int64_t size = 0;
  };
  std::map<const Scalar*, Source> sources_;
};

void addOpen(const Scalar& scalar, const ScalarBindings& bindings, std::vector<std::string>& names) {
  for (const Scalar* symbol : symbolsOf(scalar)) {
    const std::string name = toString(*symbol);
    if (!bindings.contains(symbol) && std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
}

std::vector<std::string> inputNames(const Fusion& program) {
  std::vector<std::string> names;
  for (const Val* input : program.inputs()) {
    const TensorView* tensor = asTensor(const_cast<Val*>(input));
    names.push_back(tensor != nullptr ? nameOf(*tensor) : static_cast<const Scalar*>(input)->name());
  }
  return names;
}

}  // namespace

void requireExtents(const Fusion& program, ScalarBindings bindings) {
  std::vector<std::string> tensors;
  std::vector<std::string> names;
  for (const Val* input : program.inputs()) {
    const TensorView* tv = asTensor(const_cast<Val*>(input));
    if (tv == nullptr) {  // tensors behind it may have its value as an extent
      const auto* scalar = static_cast<const Scalar*>(input);
      bindings.emplace(scalar, convertValue(int64_t{1}, scalar->dtype()));
      continue;
    }
    const size_t known = names.size();
    for (const IterDomain* axis : shapeOf(*tv)) {
      if (!evaluate(*axis->visibleExtent(), bindings)) addOpen(*axis->visibleExtent(), bindings, names);
    }
    if (names.size() > known) tensors.push_back(toString(*tv));
  }
  TK_REQUIRE(names.empty(), Usage, "the {} {} of {} {} no value; give {} by --size {}=N",
             names.size() == 1 ? "extent" : "extents", joined(names), joined(tensors, " and "),
             names.size() == 1 ? "has" : "have", names.size() == 1 ? "it" : "them", joined(names, "=N --size "));
}

InputValues makeInputs(const Fusion& program, const InputSources& sources, Device& device,
                       const std::shared_ptr<Stream>& stream) {
  InputValues result;
  std::map<std::string, std::string> unused = sources.given;
  std::map<const TensorView*, Tensor> files;
  std::map<const TensorView*, InputFill> fills;
  SizeSources size_sources;
  // Files say their sizes; --size must agree, and what both leave open has its default.
  for (TensorView* tv : tensorsOf(program.inputs())) {
    const auto given = unused.find(nameOf(*tv));
    if (given == unused.end()) continue;
    if (const auto fill = inputFillOf(given->second)) {
      if (fill->kind == InputFill::Kind::Same) requireHeld(given->first, given->second, tv->dtype(), fill->value);
      fills[tv] = *fill;
    } else {
      const Tensor read = readGiven(*tv, given->second, device, stream);
      const auto describe = [&] { return fmt::format("in --input {}={}", given->first, given->second); };
      const ErrorNote note(describe);
      size_sources.take(*tv, read.sizes(), fmt::format("--input {}={}", given->first, given->second));
      bindShape(*tv, read.sizes(), result.bindings);
      files[tv] = fittingTensor(*tv, read, device, stream);
    }
    unused.erase(given);
  }
  for (Scalar* symbol : program.allSymbols()) {
    const auto size = sources.sizes.find(symbol->name());
    if (size == sources.sizes.end()) continue;
    const auto [bound, is_new] = result.bindings.emplace(symbol, ScalarValue{size->second});
    TK_REQUIRE(is_new || asInt(bound->second) == size->second, Usage, "--size {}={}: it is {} by {}", symbol->name(),
               size->second, asInt(bound->second), size_sources.of(*symbol));
  }
  for (const auto& [symbol, size] : program.defaultSizes()) result.bindings.emplace(symbol, ScalarValue{size});
  requireExtents(program, result.bindings);
  const IndexedExtents indexed(program);
  uint64_t number = 0;
  for (Val* input : program.inputs()) {
    const RandomBits random(sources.seed * 0x100000001b3ULL + ++number);
    if (TensorView* tv = asTensor(input)) {
      result.is_drawn = result.is_drawn || (!files.contains(tv) && fills[tv].kind != InputFill::Kind::Same);
      result.values.emplace_back(
          files.contains(tv)
              ? files[tv]
              : filledTensor(*tv, fills[tv], result.bindings,
                             {random, rangeOf(*tv, indexed, result.bindings), sources.drawn_elements}, device, stream));
      continue;
    }
    const auto* scalar = static_cast<const Scalar*>(input);
    const auto given = unused.find(scalar->name());
    const auto bound = result.bindings.find(scalar);
    if (given != unused.end()) {
      const ScalarValue value = readNumber(given->first, given->second, scalar->dtype());
      const auto size = sources.sizes.find(scalar->name());
      TK_REQUIRE(size == sources.sizes.end() || asDouble(value) == static_cast<double>(size->second), Usage,
                 "--input {}={}: --size {}={} gives it another value; leave one of them out", given->first,
                 given->second, scalar->name(), size->second);
      result.values.emplace_back(value);
      unused.erase(given);
    } else if (bound != result.bindings.end()) {  // by `sizes` or --size
      result.values.emplace_back(convertValue(bound->second, scalar->dtype()));
    } else {
      result.is_drawn = true;
      RandomBits bits = random;
      result.values.emplace_back(convertValue(
          isFloatingType(scalar->dtype()) ? bits.normal() : static_cast<double>(bits.next() % 8 + 1), scalar->dtype()));
    }
    result.bindings[scalar] = std::get<ScalarValue>(result.values.back());
  }
  TK_REQUIRE(unused.empty(), Usage, "--input {}={}: the program has no such input{}", unused.begin()->first,
             unused.begin()->second, fmt::format("; its inputs are {}", joined(inputNames(program))));
  return result;
}

}  // namespace tokamak::tools
