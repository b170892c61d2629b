// Generic form: `name( <operands>, <attribute> = <value> )`, derived from an op's description.
#pragma once

#include <string>

#include "host/ir/text/text_reader.h"
#include "host/ir/text/text_writer.h"

namespace tokamak {

/// Operands, then `name = value` for each attribute: of ops without a form of their own.
std::string genericArguments(TextWriter& writer, const Expr& expr);
/// Reads them after '(' up to but without ')'.
Fields readGenericArguments(TextReader& reader, OpKind kind);

}  // namespace tokamak
