// ExpressionParser: operators and slices over tensors and scalars: -T0 * 2 + T1[0:4, :].
#pragma once

#include <vector>

#include "ir/text/argument_parser.h"

namespace tokamak {

/// Reads one expression. Between scalars an operator makes a scalar; where an operand is a tensor it is the call of the
/// same meaning (infix.h). Signs bind tighter than infix operators; slices and `**` (the call `pow`) bind tighter than
/// signs.
class ExpressionParser {
 public:
  ExpressionParser(TokenStream& tokens, const TextScope& scope, ArgumentParser& arguments)
      : tokens_(tokens), scope_(scope), arguments_(arguments), scalars_(arguments.scalars()) {}

  /// Errors: Parse, and those of what is called.
  FieldValue parse();

 private:
  struct Reading {
    TensorView* tensor = nullptr;  ///< null: a scalar
    ScalarReading scalar = {};
    const Token* quotient = nullptr;  ///< the first '/' or '%' between two scalars that made this scalar
    bool is_comparison = false;       ///< made by a comparison without parentheses
  };

  Reading binary(int lowest_level);
  Reading unary();
  Reading power();
  Reading primary();
  Reading fromCall();
  Reading combined(const Token& at, const InfixOperator& row, const Reading& left, const Reading& right);
  Reading called(const Token& at, std::string_view function, std::vector<FieldValue> operands);
  Reading sliced(const Reading& of);
  bool atPower() const;

  static FieldValue valueOf(const Reading& reading);
  FieldValue operandOf(const Reading& reading) const;

  TokenStream& tokens_;
  const TextScope& scope_;
  ArgumentParser& arguments_;
  ScalarParser scalars_;
};

}  // namespace tokamak
