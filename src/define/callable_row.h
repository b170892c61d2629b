// A hand-written row of the callables: from values to the C++ arguments of a function, by their types.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/require.h"
#include "define/callables.h"
#include "define/operand.h"

namespace tokamak::defining {

/// Which argument of which call is taken.
struct Place {
  Fusion& fusion;
  std::string_view call;
  std::string_view parameter;
};

/// How an argument of type T comes from a value. Errors: Definition, naming the call and the parameter.
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
/// Several results; those that are null are left out.
inline std::vector<Val*> toResults(const std::vector<TensorView*>& tensors) {
  std::vector<Val*> results;
  for (TensorView* tensor : tensors) {
    if (tensor != nullptr) results.push_back(tensor);
  }
  return results;
}

template <class Result, class... Args, size_t... I>
std::vector<Val*> invoke(Result (*function)(Fusion&, Args...), const Callable& callable, Fusion& fusion,
                         std::span<const FieldValue> values, std::index_sequence<I...>) {
  const auto at = [&](size_t i) { return Place{fusion, callable.name, callable.parameters[i].name}; };
  return toResults(function(fusion, Taker<std::decay_t<Args>>::take(at(I), values[I])...));
}

/// What an argument of type T may be.
template <class T>
constexpr ArgumentKind kindOfArgument() {
  if constexpr (std::is_same_v<T, TensorView*>) return ArgumentKind::Tensor;
  if constexpr (std::is_same_v<T, std::vector<TensorView*>>) return ArgumentKind::Tensors;
  if constexpr (std::is_same_v<T, Operand>) return ArgumentKind::Scalar;
  if constexpr (std::is_same_v<T, Operands>) return ArgumentKind::Scalars;
  if constexpr (std::is_same_v<T, int64_t>) return ArgumentKind::Integer;
  if constexpr (std::is_same_v<T, std::vector<int64_t>>) return ArgumentKind::Integers;
  if constexpr (std::is_same_v<T, double>) return ArgumentKind::Real;
  if constexpr (std::is_same_v<T, bool>) return ArgumentKind::Flag;
  if constexpr (std::is_same_v<T, std::vector<bool>>) return ArgumentKind::Flags;
  if constexpr (std::is_same_v<T, DataType>) return ArgumentKind::Type;
  if constexpr (std::is_same_v<T, std::string>) return ArgumentKind::Name;
}
template <class T>
struct KindOf {
  static constexpr ArgumentKind value = kindOfArgument<T>();
};
template <class T>
struct KindOf<std::optional<T>> : KindOf<T> {};

/// A callable of this function.
template <class Result, class... Args>
Callable row(std::string_view name, std::vector<Parameter> parameters, Result (*function)(Fusion&, Args...)) {
  TK_CHECK(parameters.size() == sizeof...(Args), "{}: {} parameters for {} arguments", name, parameters.size(),
           sizeof...(Args));
  size_t i = 0;
  ((parameters[i++].kind = KindOf<std::decay_t<Args>>::value), ...);
  Callable callable{.name = name, .parameters = std::move(parameters), .function = {}};
  callable.function = [function, callable](Fusion& fusion, std::span<const FieldValue> values) {
    return invoke(function, callable, fusion, values, std::index_sequence_for<Args...>{});
  };
  return callable;
}

inline Parameter required(std::string_view name) { return {.name = name, .is_required = true}; }

using F = Fusion&;
using T = TensorView*;
using Ints = const std::vector<int64_t>&;
template <class V>
using Maybe = std::optional<V>;
inline constexpr std::monostate kNone{};

}  // namespace tokamak::defining
