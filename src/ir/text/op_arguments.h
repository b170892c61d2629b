// The arguments of a call matched to the fields of an op.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "ir/text/call_resolver.h"

namespace tokamak {

/// The fields that a call of the op gives, in order of description: no results, spellings and bodies.
std::vector<const Field*> argumentFields(OpKind kind);

/// Whether the op's operands stand one by one in a call: its only argument is a list of operands.
bool hasSpreadOperands(OpKind kind);

/// The op's fields from the arguments of a call. Errors: Definition, naming the argument and the legal ones.
Fields fieldsFromArguments(Fusion& fusion, const OpName& op, std::span<const CallArgument> arguments);

/// The value in the form that `pattern` holds: numbers as scalars, lists of integers as lists of scalars, names as
/// enumerators, ...; nothing when it cannot have that form.
std::optional<FieldValue> fittedArgument(Fusion& fusion, const FieldValue& pattern, const FieldValue& value);
/// What a value of this form is called in messages: "a list of integers".
std::string_view formOf(const FieldValue& value);

/// Whether these arguments are exactly what the op itself takes for results of these types, so that no conversion is
/// wanted: all named as described, operands of the types that it computes with, no negative number.
bool isExactCall(const OpName& op, std::span<const CallArgument> arguments, std::span<const DataType> results);

}  // namespace tokamak
