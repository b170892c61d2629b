// define<Op>: a structured op called with arguments in the order of its description; what named functions derive from.
//
//   TensorView* y = define<RollOp>(x, 3, /*axis=*/1);            // operands and attributes as describe() lists them
//   TensorView* z = define<FullOp>(fusion, sizes, 0.5, DataType::F32);  // no tensor among the arguments: name the fusion
//
// Trailing arguments may be left out and keep their defaults. Arguments are brought to the form of their field: numbers
// become scalars where the field holds scalars, lists of integers become lists of scalars, names become enumerators.
#pragma once

#include <string>
#include <vector>

#include "define/operand.h"
#include "ir/describe.h"
#include "ir/fields.h"

namespace tokamak {

/// A field's value under a name; an empty name: the next field in order that has no value yet.
struct Argument {
  std::string_view name;
  FieldValue value;
};

/// Results and bodies are no arguments.
bool isArgument(FieldRole role);

/// `value` in the form that `field` holds in a default-constructed op. Errors: Definition, naming op, field and the legal form.
FieldValue fitArgument(Fusion& fusion, std::string_view op, const Field& field, const FieldValue& value);

/// The expression of the op called `name` (a spelling or the op's name) with these arguments, with inferred results.
/// Errors: Definition for an unknown or doubled argument, a value of the wrong form, a missing operand, and the op's own.
Expr* defineOp(Fusion& fusion, const OpName& name, std::span<const Argument> arguments);

/// The fusion of the first value among the arguments. Errors: Definition, naming `op`, when there is none.
Fusion& fusionOf(std::string_view op, std::span<const Argument> arguments);

namespace defining {

template <class T>
FieldValue toFieldValue(const T& value) {
  if constexpr (std::is_pointer_v<T> && std::is_same_v<std::remove_pointer_t<T>, Scalar>) return FieldValue(value);
  else if constexpr (std::is_pointer_v<T> && std::is_base_of_v<Val, std::remove_pointer_t<T>>) return static_cast<Val*>(value);
  else if constexpr (std::is_same_v<T, std::nullptr_t>) return std::monostate{};
  else if constexpr (std::is_same_v<T, bool>) return value;
  else if constexpr (std::is_integral_v<T>) return static_cast<int64_t>(value);
  else if constexpr (std::is_floating_point_v<T>) return static_cast<double>(value);
  else if constexpr (std::is_same_v<T, DataType>) return value;
  else if constexpr (std::is_enum_v<T>) return EnumValue{static_cast<size_t>(value), EnumNames<T>::names};
  else if constexpr (std::is_convertible_v<T, std::string_view>) return std::string(value);
  else return value;
}
inline FieldValue toFieldValue(const std::vector<TensorView*>& values) { return std::vector<Val*>(values.begin(), values.end()); }

/// Whether the op's functions are written by hand; specialised next to them.
template <class Op>
inline constexpr bool has_own_function = false;

/// Appends the op's result. One result is required.
TensorView* defineOne(Fusion* fusion, OpKind kind, std::vector<Argument> arguments);

}  // namespace defining

/// Errors: as defineOp.
template <class Op, class... Args>
TensorView* define(Fusion& fusion, const Args&... args) {
  return defining::defineOne(&fusion, kindOf<Op>, {Argument{{}, defining::toFieldValue(args)}...});
}
/// In the fusion of the first value among the arguments.
template <class Op, class... Args>
TensorView* define(const Args&... args) {
  return defining::defineOne(nullptr, kindOf<Op>, {Argument{{}, defining::toFieldValue(args)}...});
}

}  // namespace tokamak
