// RefusedStatements: errors of statements that have nothing to do with each other are raised together.
#pragma once

#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "ir/text/lexer.h"

namespace tokamak {

/// Raised instead of an error where a text reads the result of a statement that was refused.
struct ReadsRefused {};

class RefusedStatements {
 public:
  /// For a catch (...): notes the error that is being handled, but no ReadsRefused; what is neither goes on. Raises all
  /// of them when they are too many to be read.
  void addCurrent();
  bool empty() const { return errors_.empty(); }
  /// Raises the only error as it is; of several the first one's code, with all their texts and their count.
  [[noreturn]] void raise() const;

 private:
  std::vector<std::exception_ptr> errors_;
};

/// What a statement that begins at the next token names on its left side, with the tokens behind it taken up to the
/// next statement or the body's end; nothing, with no token taken, where its end cannot be told: parentheses are not
/// closed, or no '='.
std::optional<std::vector<std::string>> skipStatement(TokenStream& tokens);

/// The names in an input that begins at the next token, its own first; its tokens are taken up to the ',' or ')' behind
/// it. Nothing, with no token taken, where its end or its name cannot be told.
std::optional<std::vector<std::string>> skipInput(TokenStream& tokens);

/// Every name in a schedule command that begins at the next token; its tokens are taken. Nothing, with no token taken,
/// where its end cannot be told.
std::optional<std::vector<std::string>> skipCommand(TokenStream& tokens);

}  // namespace tokamak
