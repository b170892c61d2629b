// The hand-written rows of the callables: a function, and its parameters with their fallbacks.
#include <optional>

#include "base/error.h"
#include "define/activations.h"
#include "define/attention.h"
#include "define/callables.h"
#include "define/normalization.h"
#include "define/softmax.h"
#include "define/statistics.h"
#include "define/structured.h"
#include "ir/shape_rule.h"

namespace tokamak {

namespace {

// --- from values to C++ arguments, by the type of the argument ---

struct Place {
  Fusion& fusion;
  std::string_view call;
  std::string_view parameter;
};

template <class T>
struct Taker {
  static T take(const Place& at, const FieldValue& value) {
    return std::get<T>(fitArgument(at.fusion, at.call, at.parameter, T{}, value));
  }
};
template <class T>
struct Taker<std::optional<T>> {
  static std::optional<T> take(const Place& at, const FieldValue& value) {
    if (std::holds_alternative<std::monostate>(value)) return std::nullopt;
    return Taker<T>::take(at, value);
  }
};
template <>
struct Taker<TensorView*> {
  static TensorView* take(const Place& at, const FieldValue& value) {
    if (std::holds_alternative<std::monostate>(value)) return nullptr;
    const auto* val = std::get_if<Val*>(&value);
    TensorView* tensor = val != nullptr ? asTensor(*val) : nullptr;
    TK_REQUIRE(tensor != nullptr, Definition, "{}: '{}' must be a tensor", at.call, at.parameter);
    return tensor;
  }
};
template <>
struct Taker<std::vector<TensorView*>> {
  static std::vector<TensorView*> take(const Place& at, const FieldValue& value) {
    std::vector<TensorView*> tensors;
    for (Val* val : Taker<std::vector<Val*>>::take(at, value)) tensors.push_back(Taker<TensorView*>::take(at, val));
    return tensors;
  }
};
template <>
struct Taker<Operand> {
  static Operand take(const Place& at, const FieldValue& value) {
    // Plain numbers stay plain: they take the type of what they meet.
    if (const auto* integer = std::get_if<int64_t>(&value)) return *integer;
    if (const auto* number = std::get_if<double>(&value)) return *number;
    if (const auto* flag = std::get_if<bool>(&value)) return *flag;
    return std::get<Scalar*>(fitArgument(at.fusion, at.call, at.parameter, static_cast<Scalar*>(nullptr), value));
  }
};
template <>
struct Taker<Operands> {
  static Operands take(const Place& at, const FieldValue& value) {
    return Taker<std::vector<Scalar*>>::take(at, value);
  }
};

inline std::vector<Val*> toResults(TensorView* tensor) { return {tensor}; }
inline std::vector<Val*> toResults(const VarMean& results) { return {results.var, results.mean}; }

template <class Result, class... Args, size_t... I>
std::vector<Val*> invoke(Result (*function)(Fusion&, Args...), const Callable& callable, Fusion& fusion,
                         std::span<const FieldValue> values, std::index_sequence<I...>) {
  const auto at = [&](size_t i) { return Place{fusion, callable.name, callable.parameters[i].name}; };
  return toResults(function(fusion, Taker<std::decay_t<Args>>::take(at(I), values[I])...));
}

template <class Result, class... Args>
Callable row(std::string_view name, std::vector<Parameter> parameters, Result (*function)(Fusion&, Args...)) {
  TK_CHECK(parameters.size() == sizeof...(Args), "{}: {} parameters for {} arguments", name, parameters.size(),
           sizeof...(Args));
  Callable callable{.name = name, .parameters = std::move(parameters), .function = {}};
  callable.function = [function, callable](Fusion& fusion, std::span<const FieldValue> values) {
    return invoke(function, callable, fusion, values, std::index_sequence_for<Args...>{});
  };
  return callable;
}

Parameter required(std::string_view name) { return {name, {}, /*is_required=*/true}; }

// --- the rows ---

using F = Fusion&;
using T = TensorView*;
using Ints = const std::vector<int64_t>&;
template <class V>
using Maybe = std::optional<V>;
constexpr std::monostate kNone{};

std::vector<Callable> reductions() {
  const auto reduction = [](std::string_view name, T (*function)(F, T, Ints, bool, Maybe<DataType>)) {
    return row(name, {required("in"), {"axes", std::vector<int64_t>{}}, {"keepdim", false}, {"dtype", kNone}},
               function);
  };
  return {
      reduction("sum", [](F, T in, Ints axes, bool keep, Maybe<DataType> type) { return sum(in, axes, {keep, type}); }),
      reduction("prod",
                [](F, T in, Ints axes, bool keep, Maybe<DataType> type) { return prod(in, axes, {keep, type}); }),
      reduction("max", [](F, T in, Ints axes, bool keep, Maybe<DataType> type) { return max(in, axes, {keep, type}); }),
      reduction("min", [](F, T in, Ints axes, bool keep, Maybe<DataType> type) { return min(in, axes, {keep, type}); }),
      row(
          "mean", {required("in"), {"axes", std::vector<int64_t>{}}, {"keepdim", false}},
          +[](F, T in, Ints axes, bool keep) { return mean(in, axes, {.keepdim = keep}); }),
      row(
          "var", {required("in"), {"axes", std::vector<int64_t>{}}, {"correction", 1.0}, {"keepdim", false}},
          +[](F, T in, Ints axes, double correction, bool keep) { return var(in, axes, {correction, keep}); }),
      row(
          "var_mean", {required("in"), {"axes", std::vector<int64_t>{}}, {"correction", 1.0}, {"keepdim", false}},
          +[](F, T in, Ints axes, double correction, bool keep) { return var_mean(in, axes, {correction, keep}); }),
  };
}

T squeezeByAxesOrFlags(F, T in, Maybe<std::vector<int64_t>> axes, Maybe<std::vector<bool>> flags) {
  TK_REQUIRE(axes.has_value() != flags.has_value(), Definition, "squeeze: give either axes or flags for {}",
             toString(*in));
  return axes ? squeeze(in, *axes) : define<SqueezeOp>(in, *flags);
}

T sliceByListsOrAxis(F fusion, T in, Maybe<Operands> starts, Maybe<Operands> stops, const Maybe<Operands>& steps,
                     Maybe<int64_t> axis, Maybe<Operand> start, Maybe<Operand> stop, Maybe<Operand> step) {
  const bool names_lists = starts || stops || steps;
  TK_REQUIRE(!axis || !names_lists, Definition, "slice: give either lists of starts and stops or one axis for {}",
             toString(*in));
  if (axis) {
    const int64_t position = ShapeRule(fusion, "slice").normalAxis(*axis, *in);
    Scalar* size = shapeOf(*in)[static_cast<size_t>(position)]->visibleExtent();
    return slice(in, position, start.value_or(0), stop.value_or(size), step.value_or(1));
  }
  TK_REQUIRE(starts && stops && !start && !stop && !step, Definition,
             "slice: {} needs starts and stops, or an axis with start, stop and step", toString(*in));
  return slice(in, *starts, *stops, steps.value_or(Operands({})));
}

std::vector<Callable> movements() {
  return {
      row(
          "broadcast_in_dim", {required("in"), required("shape"), required("axes")},
          +[](F, T in, const Operands& shape, Ints axes) { return broadcast_in_dim(in, shape, axes); }),
      row(
          "expand", {required("in"), required("shape")},
          +[](F, T in, const Operands& shape) { return expand(in, shape); }),
      row("squeeze", {required("in"), {"axes", kNone}, {"flags", kNone}}, squeezeByAxesOrFlags),
      row(
          "unsqueeze", {required("in"), required("axis")}, +[](F, T in, int64_t axis) { return unsqueeze(in, axis); }),
      row(
          "reshape", {required("in"), required("shape")},
          +[](F, T in, const Operands& shape) { return reshape(in, shape); }),
      row(
          "transpose", {required("in"), {"a", int64_t{-2}}, {"b", int64_t{-1}}},
          +[](F, T in, int64_t a, int64_t b) { return transpose(in, a, b); }),
      row("slice",
          {required("in"),
           {"starts", kNone},
           {"stops", kNone},
           {"steps", kNone},
           {"axis", kNone},
           {"start", kNone},
           {"stop", kNone},
           {"step", kNone}},
          sliceByListsOrAxis),
      row(
          "select", {required("in"), required("axis"), required("index")},
          +[](F, T in, int64_t axis, Operand index) { return select(in, axis, index); }),
      row(
          "pad", {required("in"), required("widths"), {"value", int64_t{0}}},
          +[](F, T in, const Operands& widths, Operand value) { return pad(in, widths, value); }),
      row(
          "cat", {required("in"), {"axis", int64_t{0}}},
          +[](F, const std::vector<T>& ins, int64_t axis) { return cat(ins, axis); }),
      row(
          "full", {required("shape"), required("value"), {"dtype", DataType::F32}},
          +[](F fusion, const Operands& shape, Operand value, DataType dtype) {
            return full(fusion, shape, value, dtype);
          }),
      row(
          "zeros", {required("shape"), {"dtype", DataType::F32}},
          +[](F fusion, const Operands& shape, DataType dtype) { return zeros(fusion, shape, dtype); }),
      row(
          "ones", {required("shape"), {"dtype", DataType::F32}},
          +[](F fusion, const Operands& shape, DataType dtype) { return ones(fusion, shape, dtype); }),
      row(
          "iota", {required("length"), {"start", int64_t{0}}, {"step", int64_t{1}}, {"dtype", DataType::I64}},
          +[](F fusion, Operand length, Operand start, Operand step, DataType dtype) {
            return iota(fusion, length, start, step, dtype);
          }),
  };
}

std::vector<Callable> composites() {
  return {
      row(
          "softmax", {required("in"), {"axis", int64_t{-1}}}, +[](F, T in, int64_t axis) { return softmax(in, axis); }),
      row(
          "log_softmax", {required("in"), {"axis", int64_t{-1}}},
          +[](F, T in, int64_t axis) { return log_softmax(in, axis); }),
      row(
          "layer_norm", {required("in"), {"weight", kNone}, {"bias", kNone}, {"eps", 1e-5}, {"norm_axes", int64_t{1}}},
          +[](F, T in, T weight, T bias, double eps, int64_t axes) {
            return layer_norm(in, weight, bias, {eps, axes});
          }),
      row(
          "rms_norm", {required("in"), {"weight", kNone}, {"eps", 1e-5}, {"norm_axes", int64_t{1}}},
          +[](F, T in, T weight, double eps, int64_t axes) { return rms_norm(in, weight, {eps, axes}); }),
      row(
          "gelu", {required("in")}, +[](F, T in) { return gelu(in); }),
      row(
          "gelu_tanh", {required("in")}, +[](F, T in) { return gelu_tanh(in); }),
      row(
          "leaky_relu", {required("in"), {"slope", 0.01}},
          +[](F, T in, double slope) { return leaky_relu(in, slope); }),
      row(
          "softplus", {required("in"), {"beta", 1.0}, {"threshold", 20.0}},
          +[](F, T in, double beta, double threshold) { return softplus(in, beta, threshold); }),
      row(
          "attention", {required("q"), required("k"), required("v"), {"is_causal", false}, {"scale", kNone}},
          +[](F, T q, T k, T v, bool is_causal, Maybe<double> scale) {
            return attention(q, k, v, {is_causal, scale});
          }),
  };
}

}  // namespace

std::vector<Callable> handWrittenCallables() {
  std::vector<Callable> rows = reductions();
  for (auto* family : {movements, composites}) {
    for (Callable& callable : family()) rows.push_back(std::move(callable));
  }
  return rows;
}

}  // namespace tokamak
