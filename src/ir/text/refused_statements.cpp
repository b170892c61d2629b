#include "ir/text/refused_statements.h"

#include <fmt/format.h>

namespace tokamak {

namespace {

constexpr size_t kMostErrors = 20;

bool isOpening(const Token& token) { return token.is("(") || token.is("[") || token.is("{"); }
bool isClosing(const Token& token) { return token.is(")") || token.is("]") || token.is("}"); }

// A name that a result has: "y =", "y:" or "y,", outside of parentheses.
bool atResult(const TokenStream& tokens) {
  const Token& next = tokens.peek(1);
  return tokens.peek().kind == TokenKind::Identifier && (next.is("=") || next.is(":") || next.is(","));
}

// Takes tokens up to one outside of parentheses at which `ends` holds. False where parentheses are not closed.
template <class Ends>
bool skipTo(TokenStream& tokens, const Ends& ends) {
  for (int64_t open = 0;; tokens.setPosition(tokens.position() + 1)) {
    const Token& token = tokens.peek();
    if (open == 0 && ends(token)) return true;
    if (token.kind == TokenKind::End || token.kind == TokenKind::Bad) return false;
    if (isOpening(token)) ++open;
    if (isClosing(token) && --open < 0) return false;
  }
}

// The names among the tokens from `first` to the next one.
std::vector<std::string> namesSince(TokenStream& tokens, size_t first) {
  const size_t end = tokens.position();
  std::vector<std::string> names;
  for (tokens.setPosition(first); tokens.position() < end; tokens.setPosition(tokens.position() + 1)) {
    if (tokens.peek().kind == TokenKind::Identifier) names.emplace_back(tokens.peek().text);
  }
  return names;
}

bool skipOver(TokenStream& tokens, std::vector<std::string>& names) {
  const size_t first = tokens.position();
  bool is_new_line = false;
  const bool has_equals = skipTo(tokens, [&](const Token& token) {
    is_new_line = is_new_line || (token.starts_line && tokens.position() > first);
    if (atResult(tokens)) names.emplace_back(token.text);
    return token.is("=");
  });
  // A '=' of a later line may be another statement's.
  if (!has_equals || is_new_line || names.empty()) return false;
  tokens.next();
  return skipTo(tokens, [&](const Token& token) { return token.is("}") || token.is("symbol") || atResult(tokens); });
}

}  // namespace

void RefusedStatements::addCurrent() {
  try {
    throw;
  } catch (const ReadsRefused&) {
    return;
  } catch (const Error&) {
    errors_.push_back(std::current_exception());
  }
  if (errors_.size() == kMostErrors) raise();
}

void RefusedStatements::raise() const {
  if (errors_.size() == 1) std::rethrow_exception(errors_[0]);
  std::optional<ErrorCode> code;
  std::string text;
  for (const std::exception_ptr& error : errors_) {
    try {
      std::rethrow_exception(error);
    } catch (const Error& each) {
      if (!code) code = each.code();
      text += fmt::format("{}\n", each.what());
    }
  }
  throw Error(*code,
              fmt::format("{}{}{} errors", text, errors_.size() == kMostErrors ? "at least " : "", errors_.size()));
}

std::optional<std::vector<std::string>> skipStatement(TokenStream& tokens) {
  const size_t start = tokens.position();
  std::vector<std::string> names;
  if (skipOver(tokens, names)) return names;
  tokens.setPosition(start);
  return std::nullopt;
}

std::optional<std::vector<std::string>> skipInput(TokenStream& tokens) {
  const size_t start = tokens.position();
  const bool has_name = tokens.peek().kind == TokenKind::Identifier;
  const bool has_end = skipTo(tokens, [](const Token& token) { return token.is(",") || token.is(")"); });
  if (has_name && has_end) return namesSince(tokens, start);
  tokens.setPosition(start);
  return std::nullopt;
}

std::optional<std::vector<std::string>> skipCommand(TokenStream& tokens) {
  const size_t start = tokens.position();
  const bool has_arguments = skipTo(tokens, [](const Token& token) { return token.is("(") || token.is("}"); });
  if (has_arguments && tokens.at("(")) {
    tokens.setPosition(tokens.position() + 1);
    if (skipTo(tokens, [](const Token& token) { return token.is(")"); })) {
      tokens.setPosition(tokens.position() + 1);
      return namesSince(tokens, start);
    }
  }
  tokens.setPosition(start);
  return std::nullopt;
}

}  // namespace tokamak
