// Division comments: a comment behind an operand that reads like the rest of a floor division, as in `y = a + x // 2`.
#pragma once

#include "ir/text/argument_parser.h"
#include "ir/text/lexer.h"

namespace tokamak {

/// For where an expression ends. `//` begins a comment here and is floor division in NumPy, PyTorch and JAX.
/// Errors: Parse where a comment follows on the line whose whole text is an expression: numbers, names that the scope
/// has, calls, operators and parentheses. Two blanks before `//` make a comment of any expression but one that starts
/// with a number.
void refuseDivisionComment(const TokenStream& tokens, const TextScope& scope);

}  // namespace tokamak
