#include "ir/text/division_comment.h"

#include <algorithm>

#include <fmt/format.h>

#include "ir/text/infix.h"
#include "ir/text/names.h"

namespace tokamak {

namespace {

bool isNumber(const Token& token) { return token.kind == TokenKind::Integer || token.kind == TokenKind::Float; }
bool isOperator(const Token& token) { return token.kind == TokenKind::Punctuation && findInfix(token.text) != nullptr; }

// Whether the tokens are operands with operators between them. Arguments of calls and what brackets hold may be
// anything. Parentheses that are closed and were not opened belong to what stands before the comment.
class ExpressionCheck {
 public:
  ExpressionCheck(const std::vector<Token>& tokens, const TextScope& scope) : tokens_(tokens), scope_(scope) {}

  bool holds() {
    if (!expression()) return false;
    while (at().is(")") || at().is("]")) ++next_;
    return at().kind == TokenKind::End;
  }

 private:
  const Token& at() const { return tokens_[next_]; }

  bool expression() {
    for (;;) {
      while (at().is("-") || at().is("!")) ++next_;
      if (!operand()) return false;
      if (!isOperator(at())) return true;
      const bool is_star = at().is("*");
      ++next_;
      if (is_star && at().is("*")) ++next_;
    }
  }

  bool operand() {
    const Token& first = at();
    if (isNumber(first)) return ++next_, true;
    if (first.is("(")) {
      if (++depth_ > kMaxNesting) return false;
      ++next_;
      if (!expression() || !at().is(")")) return false;
      --depth_;
      ++next_;
    } else if (isCall(first)) {
      ++next_;
      if (!skipGroup()) return false;
    } else if (isKnown(first)) {
      ++next_;
    } else {
      return false;
    }
    while (at().is("[")) {
      if (!skipGroup()) return false;
    }
    return true;
  }

  // "mean(x)"; "mean (of x)" is prose.
  bool isCall(const Token& name) const {
    const Token& open = tokens_[next_ + 1 < tokens_.size() ? next_ + 1 : next_];
    return name.kind == TokenKind::Identifier && open.is("(") && open.offset == name.offset + name.text.size();
  }

  bool isKnown(const Token& token) const {
    return token.kind == TokenKind::Identifier &&
           (scope_.findTensor(token.text) != nullptr || scope_.findSymbol(token.text) != nullptr ||
            scope_.refused.contains(std::string(token.text)));
  }

  bool skipGroup() {
    int64_t open = 0;
    for (;; ++next_) {
      if (at().kind == TokenKind::End || at().kind == TokenKind::Bad) return false;
      if (at().is("(") || at().is("[")) ++open;
      if ((at().is(")") || at().is("]")) && --open == 0) return ++next_, true;
    }
  }

  const std::vector<Token>& tokens_;
  const TextScope& scope_;
  size_t next_ = 0;
  int depth_ = 0;
};

}  // namespace

void refuseDivisionComment(const TokenStream& tokens, const TextScope& scope) {
  const size_t end = tokens.endOfPrevious();
  const std::string_view gap = tokens.text().substr(end, tokens.peek().offset - end);
  const size_t blanks = gap.find_first_not_of(" \t");
  if (blanks == std::string_view::npos || !gap.substr(blanks).starts_with("//")) return;
  const std::string_view comment = gap.substr(blanks + 2, gap.find('\n', blanks) - (blanks + 2));
  const std::vector<Token> written = tokensOf(comment);
  const bool is_apart = blanks >= 2 && !isNumber(written[0]);
  if (is_apart || !ExpressionCheck(written, scope).holds()) return;
  tokens.fail(end + blanks,
              "'//' begins a comment, and this one reads like the divisor of a floor division; expected "
              "floor(x / y), of integers div(x, y), which rounds towards zero, or a comment that starts with a word");
}

}  // namespace tokamak
