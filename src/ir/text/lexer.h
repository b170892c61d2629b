// Lexer: program text as a stream of tokens with positions, and the form of every message about such a text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/require.h"

namespace tokamak {

enum class TokenKind : uint8_t { End, Identifier, Integer, Float, String, Punctuation, Bad };

/// A piece of the text. Comments (`// ...` to the end of the line) and blanks lie between tokens.
struct Token {
  TokenKind kind = TokenKind::End;
  bool starts_line = false;  ///< the first token of its line
  std::string_view text;     ///< as written, without the suffix of a number
  std::string_view suffix;   ///< of a number: "f32" in 0.5_f32
  size_t offset = 0;         ///< of the first byte in the text
  size_t index = 0;          ///< its number among the tokens
  uint64_t integer = 0;      ///< the value of an Integer
  double number = 0;         ///< the value of a Float: 0.5, 1e9, 0x1.8p+3, inf, nan
  std::string string;        ///< the value of a String; of a Bad token what is wrong with it

  bool is(std::string_view spelled) const {
    return (kind == TokenKind::Punctuation || kind == TokenKind::Identifier) && text == spelled;
  }
};

/// Reads a text token by token. It refers to `text`, which must outlive it.
class TokenStream {
 public:
  TokenStream(std::string_view text, std::string_view file);

  const Token& peek(size_t ahead = 0) const;
  /// Takes the next token. Errors: Parse for a Bad one.
  const Token& next();
  bool atEnd() const { return peek().kind == TokenKind::End; }
  bool at(std::string_view spelled) const { return peek().is(spelled); }
  /// Takes the next token if it is this punctuation or word.
  bool accept(std::string_view spelled);
  /// Errors: Parse when the next token is another one.
  const Token& expect(std::string_view spelled);
  /// Takes an identifier; `what` says in the message what it should have named.
  const Token& expectIdentifier(std::string_view what);
  /// Takes an integer with an optional minus. Errors: Parse when it does not fit into 64 bits.
  int64_t expectInteger(std::string_view what);

  /// "file:line:column" of a token or offset.
  std::string place(size_t offset) const;
  std::string place(const Token& token) const { return place(token.offset); }
  /// The line around an offset and, below, a caret under it; each indented by `indent` blanks.
  std::string excerpt(size_t offset, size_t indent = 0) const;

  /// Raises Parse: "file:line:column: what", the source line, a caret.
  [[noreturn]] void fail(size_t offset, std::string_view what) const;
  [[noreturn]] void fail(const Token& token, std::string_view what) const { fail(token.offset, what); }
  /// Raises Parse at the next token: "unexpected <token>; expected <expected>".
  [[noreturn]] void failExpected(std::string_view expected) const;

  /// Runs `action`; an error in it that has no place in the text yet is raised as Parse at `token`.
  template <class Action>
  std::invoke_result_t<Action> placed(const Token& token, const Action& action) const {
    try {
      return action();
    } catch (const Error& error) {
      if (error.code() == ErrorCode::Parse) throw;
      fail(token, error.message());
    }
  }

  /// Runs `action`; errors in it carry a note with the place of `token`.
  template <class Action>
  std::invoke_result_t<Action> noted(const Token& token, const Action& action) const {
    const PlaceNote describe{*this, token.offset, &token};
    const ErrorNote note(describe);
    return action();
  }

  /// The value of an Integer token, negated if wanted. Errors: Parse when it does not fit.
  enum class Sign : uint8_t { Plus, Minus };
  int64_t integerOf(const Token& token, Sign sign = Sign::Plus) const;

  /// Where the token before the next one ends.
  size_t endOfPrevious() const;
  /// Going back to where `peek().index` was, to read an alternative.
  size_t position() const { return position_; }
  void setPosition(size_t position) { position_ = position; }
  std::string_view text() const { return text_; }
  /// From the next token on, the word is this integer; tokens keep the text as written.
  void setInteger(std::string_view word, uint64_t value);

 private:
  // Gives errors their place, and tells it where there is a token.
  struct PlaceNote {
    const TokenStream& tokens;
    size_t offset;
    const Token* told;
    std::string operator()() const { return told == nullptr ? std::string() : tokens.placeNote(*told); }
    TextPlace place() const { return tokens.textPlace(offset); }
  };

  TextPlace textPlace(size_t offset) const;
  std::string placeNote(const Token& token) const;

  std::string_view text_;
  std::string file_;
  std::vector<Token> tokens_;
  size_t position_ = 0;
};

/// The tokens of a text, closed by one End token.
std::vector<Token> tokensOf(std::string_view text);

/// How a token is named in messages: "'foo'", "the end of the text".
std::string describeToken(const Token& token);

/// `text` in double quotes with escapes, as the lexer reads it back.
std::string inQuotes(std::string_view text);

}  // namespace tokamak
