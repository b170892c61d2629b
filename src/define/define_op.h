// define<Op>: a structured op called with arguments in the order of its description; what named functions derive from.
//
//   TensorView* y = define<FlipOp>(x, axes);  // operands and attributes as describe() lists them
//   TensorView* z = define<FullOp>(fusion, sizes, 0.5, DataType::F32);  // no tensor given: name the fusion
//
// Trailing arguments may be left out and keep their defaults.
#pragma once

#include <string>
#include <vector>

#include "base/export.h"
#include "define/operand.h"
#include "ir/describe.h"
#include "ir/fields.h"
#include "ir/text/call_resolver.h"

namespace tokamak {

/// What an argument may be. A number of an elementwise function takes its type from what it meets.
enum class ArgumentKind : uint8_t {
  Tensor,
  Tensors,
  Value,    ///< a tensor, a scalar or a number
  Scalar,   ///< or a number
  Scalars,  ///< and integers
  Integer,
  Integers,
  Real,
  Flag,
  Flags,
  Type,
  Name,
};
TOKAMAK_EXPORT std::string_view argumentKindName(ArgumentKind kind);  ///< "tensors"

/// What a call may be given: the value that is taken when it is left out, monostate for none.
struct Parameter {
  std::string_view name;
  FieldValue fallback = {};
  bool is_required = false;
  ArgumentKind kind = ArgumentKind::Value;
};

/// The arguments in the order of the parameters, fallbacks for those left out. axis= and dim= also name the parameter
/// `axes`, and dim= the parameter `axis`; one number is a list of one axis. Errors: Definition, naming `call`, for an
/// argument too many, of unknown name or given twice, and for a required one that is missing.
TOKAMAK_EXPORT std::vector<FieldValue> bindArguments(std::string_view call, std::span<const Parameter> parameters,
                                                     std::span<const CallArgument> arguments);

/// `value` in the form that `pattern` has: numbers become scalars, lists of integers lists of scalars, names
/// enumerators.
/// Errors: Definition, naming the call, the parameter and the legal form.
TOKAMAK_EXPORT FieldValue fitArgument(Fusion& fusion, std::string_view call, std::string_view parameter,
                                      const FieldValue& pattern, const FieldValue& value);

/// The parameters of an op: its operands and attributes as described, without a spelling.
TOKAMAK_EXPORT std::vector<Parameter> parametersOf(OpKind kind);
/// The expression of the op with these arguments, with inferred results, appended. Errors: Definition, also the op's
/// own.
TOKAMAK_EXPORT Expr* defineOp(Fusion& fusion, const OpName& name, std::span<const CallArgument> arguments);

namespace defining {

template <class T>
FieldValue toFieldValue(const T& value) {
  if constexpr (std::is_pointer_v<T> && std::is_same_v<std::remove_pointer_t<T>, Scalar>)
    return FieldValue(value);
  else if constexpr (std::is_pointer_v<T> && std::is_base_of_v<Val, std::remove_pointer_t<T>>)
    return value == nullptr ? FieldValue() : static_cast<Val*>(value);
  else if constexpr (std::is_same_v<T, std::nullptr_t>)
    return std::monostate{};
  else if constexpr (std::is_same_v<T, bool>)
    return value;
  else if constexpr (std::is_integral_v<T>)
    return static_cast<int64_t>(value);
  else if constexpr (std::is_floating_point_v<T>)
    return static_cast<double>(value);
  else if constexpr (std::is_same_v<T, DataType>)
    return value;
  else if constexpr (std::is_enum_v<T>)
    return EnumValue{static_cast<size_t>(value), EnumNames<T>::names};
  else if constexpr (std::is_convertible_v<T, std::string_view>)
    return std::string(value);
  else
    return value;
}
inline FieldValue toFieldValue(const std::vector<TensorView*>& values) {
  requireGiven("define", "operands", values);
  return std::vector<Val*>(values.begin(), values.end());
}

/// Whether the op's functions are written by hand; specialised next to them.
template <class Op>
inline constexpr bool has_own_function = false;

/// Appends the op's result. One result is required.
TOKAMAK_EXPORT TensorView* defineOne(Fusion* fusion, OpKind kind, std::vector<CallArgument> arguments);

}  // namespace defining

/// Errors: as defineOp.
template <class Op, class... Args>
TensorView* define(Fusion& fusion, const Args&... args) {
  return defining::defineOne(&fusion, kindOf<Op>, {CallArgument{{}, defining::toFieldValue(args)}...});
}
/// In the fusion of the first value among the arguments.
template <class Op, class... Args>
TensorView* define(const Args&... args) {
  return defining::defineOne(nullptr, kindOf<Op>, {CallArgument{{}, defining::toFieldValue(args)}...});
}

}  // namespace tokamak
