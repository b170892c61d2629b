// Math forms: how expressions that give tensors are written, each printed and read in one place.
#pragma once

#include <string>
#include <vector>

#include "host/ir/text/text_reader.h"
#include "host/ir/text/text_writer.h"

namespace tokamak {

/// Where the call stands after its result.
enum class CallPlace : uint8_t { NextLine, SameLine };

/// The call of an expression with results: the text after "= ".
std::string callText(TextWriter& writer, const Expr& expr, const std::string& indent);
CallPlace callPlace(const Expr& expr);

/// Reads a call and appends the expression that gives `outs`. Errors: Parse.
Expr* readCall(TextReader& reader, const std::vector<Val*>& outs, const Token& start);

/// Appends an expression made of these fields. Errors: Parse at `start`.
Expr* appendFields(TextReader& reader, OpKind kind, const Fields& fields, const Token& start);

}  // namespace tokamak
