#include "ir/text/lexer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include <fmt/format.h>

#include "base/require.h"
#include "base/text.h"

namespace tokamak {

namespace {

constexpr std::array<std::string_view, 9> kLongPunctuation = {"->", "==", "!=", "<=", ">=", "&&", "||", "<<", ">>"};
constexpr std::string_view kShortPunctuation = "()[]{},:;=+-*/%<>!?.&|^@#$";

// Of the C locale, whatever the locale is.
bool isHexDigit(char c) { return isDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool isWordStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool isWord(char c) { return isWordStart(c) || isDigit(c); }

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  std::vector<Token> all() {
    std::vector<Token> tokens;
    tokens.reserve(text_.size() / 4 + 1);
    do {
      tokens.push_back(scan());
      tokens.back().index = tokens.size() - 1;
    } while (tokens.back().kind != TokenKind::End);
    return tokens;
  }

 private:
  char at(size_t position) const { return position < text_.size() ? text_[position] : '\0'; }

  void skipBlanks() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\n') starts_line_ = true;
      if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
        ++at_;
      } else if (text_.substr(at_, 2) == "//") {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else {
        return;
      }
    }
  }

  Token scan() {
    skipBlanks();
    Token token;
    token.offset = at_;
    token.starts_line = starts_line_;
    starts_line_ = false;
    if (at_ == text_.size()) {
      // What is missing at the end is shown behind the last line that has something on it.
      const size_t last = text_.find_last_not_of(" \t\r\n");
      token.offset = last == std::string_view::npos ? 0 : last + 1;
      return token;
    }
    const char c = text_[at_];
    if (isDigit(c))
      scanNumber(token);
    else if (isWordStart(c))
      scanWord(token);
    else if (c == '"')
      scanString(token);
    else
      scanPunctuation(token);
    return token;
  }

  void finish(Token& token, TokenKind kind, size_t end) {
    token.kind = kind;
    token.text = text_.substr(token.offset, end - token.offset);
    at_ = end;
  }

  void refuse(Token& token, size_t end, std::string why) {
    finish(token, TokenKind::Bad, end);
    token.string = std::move(why);
  }

  void scanWord(Token& token) {
    size_t end = at_;
    while (isWord(at(end))) ++end;
    finish(token, TokenKind::Identifier, end);
    const size_t underscore = token.text.find('_');
    const std::string_view stem = token.text.substr(0, underscore);
    if (stem != "inf" && stem != "nan") return;
    token.kind = TokenKind::Float;
    token.text = stem;
    token.number = stem == "inf" ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
    if (underscore != std::string_view::npos) token.suffix = text_.substr(token.offset + 4, end - token.offset - 4);
  }

  void scanNumber(Token& token) {
    const bool is_hex = at(at_) == '0' && (at(at_ + 1) == 'x' || at(at_ + 1) == 'X');
    const auto isFigure = is_hex ? isHexDigit : isDigit;
    size_t end = is_hex ? at_ + 2 : at_;
    const size_t first = end;
    bool is_float = false;
    while (isFigure(at(end))) ++end;
    if (at(end) == '.' && isFigure(at(end + 1))) {
      is_float = true;
      for (++end; isFigure(at(end));) ++end;
    }
    const char mark = is_hex ? 'p' : 'e';
    if ((at(end) | 0x20) == mark) {
      const size_t figures = end + (at(end + 1) == '+' || at(end + 1) == '-' ? 2 : 1);
      if (isDigit(at(figures))) {
        is_float = true;
        for (end = figures; isDigit(at(end));) ++end;
      }
    }
    convertNumber(token, text_.substr(first, end - first), is_hex, is_float, end);
    if (token.kind == TokenKind::Bad || !isWord(at(end))) return;
    const size_t suffix = end;
    while (isWord(at(end))) ++end;
    if (at(suffix) != '_') {
      const std::string_view written = text_.substr(token.offset, end - token.offset);
      return refuse(
          token, end,
          fmt::format("'{}' is neither a number nor a name; expected a number such as 4, 0.5 or 1_i32", written));
    }
    token.suffix = text_.substr(suffix + 1, end - suffix - 1);
    at_ = end;
  }

  // The figures without 0x.
  void convertNumber(Token& token, std::string_view figures, bool is_hex, bool is_float, size_t end) {
    const char* first = figures.data();
    const char* last = first + figures.size();
    std::from_chars_result result{};
    if (is_float) {
      const auto format = is_hex ? std::chars_format::hex : std::chars_format::general;
      result = std::from_chars(first, last, token.number, format);
    } else {
      result = std::from_chars(first, last, token.integer, is_hex ? 16 : 10);
    }
    if (result.ec == std::errc() && result.ptr == last) {
      return finish(token, is_float ? TokenKind::Float : TokenKind::Integer, end);
    }
    const std::string_view written = text_.substr(token.offset, end - token.offset);
    const std::string_view limit =
        is_float ? "a number between 5e-324 and 1.7e308, 0.0 or inf" : "an integer of 64 bits";
    const std::string_view why = figures.empty() ? "has no digits" : "is out of range";
    refuse(token, end, fmt::format("the number {} {}; expected {}", written, why, limit));
  }

  void scanString(Token& token) {
    std::string value;
    size_t end = at_ + 1;
    for (; at(end) != '"'; ++end) {
      if (end >= text_.size() || text_[end] == '\n') {
        return refuse(token, end, "the string is not closed; expected '\"' on the same line");
      }
      if (text_[end] != '\\') {
        value += text_[end];
        continue;
      }
      ++end;
      if (at(end) == 'x' && isHexDigit(at(end + 1)) && isHexDigit(at(end + 2))) {
        unsigned byte = 0;
        std::from_chars(text_.data() + end + 1, text_.data() + end + 3, byte, 16);
        value += static_cast<char>(byte);
        end += 2;
        continue;
      }
      const size_t known = std::string_view("ntr\"\\").find(at(end));
      if (known == std::string_view::npos || at(end) == '\0') {
        return refuse(token, std::min(end + 1, text_.size()),
                      "unknown escape in a string; expected \\n, \\t, \\r, \\\", \\\\ or \\x and two hex digits");
      }
      value += std::string_view("\n\t\r\"\\")[known];
    }
    finish(token, TokenKind::String, end + 1);
    token.string = std::move(value);
  }

  void scanPunctuation(Token& token) {
    const auto isNext = [&](std::string_view spelled) { return text_.substr(at_, 2) == spelled; };
    if (std::ranges::any_of(kLongPunctuation, isNext)) return finish(token, TokenKind::Punctuation, at_ + 2);
    if (kShortPunctuation.find(text_[at_]) != std::string_view::npos) {
      return finish(token, TokenKind::Punctuation, at_ + 1);
    }
    const auto byte = static_cast<unsigned char>(text_[at_]);
    const bool is_printable = byte > ' ' && byte < 127;
    const std::string name = is_printable ? fmt::format("'{}'", text_[at_]) : fmt::format("the byte 0x{:02x}", byte);
    refuse(token, at_ + 1, fmt::format("{} has no meaning here; expected a name, a number or punctuation", name));
  }

  std::string_view text_;
  size_t at_ = 0;
  bool starts_line_ = true;
};

bool isContinuationByte(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

// What a terminal shows as one blank-free line: control characters would move the caret.
std::string printable(std::string_view line) {
  std::string shown;
  for (const char c : line) shown += c == '\t' ? ' ' : static_cast<unsigned char>(c) < ' ' || c == 127 ? '?' : c;
  return shown;
}

}  // namespace

std::vector<Token> tokensOf(std::string_view text) { return Scanner(text).all(); }

std::string describeToken(const Token& token) {
  constexpr size_t kShown = 40;
  if (token.kind == TokenKind::End) return "end of the text";
  std::string text(token.text.substr(0, kShown));
  if (!token.suffix.empty()) text += fmt::format("_{}", token.suffix.substr(0, kShown));
  return fmt::format("'{}{}'", printable(text), token.text.size() > kShown ? "..." : "");
}

std::string inQuotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const size_t known = std::string_view("\n\t\r\"\\").find(c);
    const auto byte = static_cast<unsigned char>(c);
    if (known != std::string_view::npos)
      out += {'\\', std::string_view("ntr\"\\")[known]};
    else if (byte < ' ' || byte == 127)
      out += fmt::format("\\x{:02x}", byte);
    else
      out += c;
  }
  return out + '"';
}

TokenStream::TokenStream(std::string_view text, std::string_view file)
    : text_(text), file_(file), tokens_(tokensOf(text)) {}

const Token& TokenStream::peek(size_t ahead) const { return tokens_[std::min(position_ + ahead, tokens_.size() - 1)]; }

const Token& TokenStream::next() {
  const Token& token = peek();
  if (token.kind == TokenKind::Bad) fail(token, token.string);
  if (position_ + 1 < tokens_.size()) ++position_;
  return token;
}

void TokenStream::setInteger(std::string_view word, uint64_t value) {
  for (size_t i = position_; i < tokens_.size(); ++i) {
    if (tokens_[i].kind != TokenKind::Identifier || tokens_[i].text != word) continue;
    tokens_[i].kind = TokenKind::Integer;
    tokens_[i].integer = value;
  }
}

size_t TokenStream::endOfPrevious() const {
  if (position_ == 0) return 0;
  const Token& token = tokens_[position_ - 1];
  return token.offset + token.text.size() + (token.suffix.empty() ? 0 : token.suffix.size() + 1);
}

bool TokenStream::accept(std::string_view spelled) {
  if (!at(spelled)) return false;
  next();
  return true;
}

const Token& TokenStream::expect(std::string_view spelled) {
  if (!at(spelled)) failExpected(fmt::format("'{}'", spelled));
  return next();
}

const Token& TokenStream::expectIdentifier(std::string_view what) {
  if (peek().kind != TokenKind::Identifier) failExpected(what);
  return next();
}

int64_t TokenStream::expectInteger(std::string_view what) {
  const Sign sign = at("-") && peek(1).kind == TokenKind::Integer ? Sign::Minus : Sign::Plus;
  if (sign == Sign::Minus) next();
  if (peek().kind != TokenKind::Integer || !peek().suffix.empty()) failExpected(what);
  return integerOf(next(), sign);
}

int64_t TokenStream::integerOf(const Token& token, Sign sign) const {
  constexpr auto kLargest = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  const bool is_negative = sign == Sign::Minus;
  if (token.integer > kLargest + (is_negative ? 1 : 0)) {
    fail(token, fmt::format("the number {}{} is out of range; expected an integer of 64 bits", is_negative ? "-" : "",
                            token.text));
  }
  return static_cast<int64_t>(is_negative ? 0 - token.integer : token.integer);
}

TextPlace TokenStream::textPlace(size_t offset) const {
  const std::string_view before = text_.substr(0, offset);
  const auto line = 1 + std::ranges::count(before, '\n');
  const size_t newline = before.rfind('\n');
  const std::string_view in_line = newline == std::string_view::npos ? before : before.substr(newline + 1);
  const auto column = 1 + std::ranges::count_if(in_line, [](char c) { return !isContinuationByte(c); });
  return {.line = line, .column = column};
}

std::string TokenStream::place(size_t offset) const {
  const TextPlace at = textPlace(offset);
  return fmt::format("{}:{}:{}", file_, at.line, at.column);
}

std::string TokenStream::placeNote(const Token& token) const {
  return fmt::format("at {}\n{}", place(token), excerpt(token.offset, 4));
}

std::string TokenStream::excerpt(size_t offset, size_t indent) const {
  constexpr size_t kWidth = 160;
  const size_t newline = offset == 0 ? std::string_view::npos : text_.rfind('\n', offset - 1);
  const size_t line_begin = newline == std::string_view::npos ? 0 : newline + 1;
  const size_t line_end = std::min(text_.find('\n', offset), text_.size());
  // A very long line is shown around the place only.
  size_t begin = offset - line_begin > kWidth ? offset - kWidth / 2 : line_begin;
  size_t end = std::min(line_end, begin + kWidth);
  while (begin > line_begin && begin < offset && isContinuationByte(text_[begin])) ++begin;
  while (end < line_end && isContinuationByte(text_[end])) ++end;
  const std::string line = printable(text_.substr(begin, end - begin));
  const auto column =
      std::ranges::count_if(text_.substr(begin, offset - begin), [](char c) { return !isContinuationByte(c); });
  return fmt::format("{0:{1}}{2}\n{0:{1}}{0:{3}}^", "", indent, line, column);
}

void TokenStream::fail(size_t offset, std::string_view what) const {
  const PlaceNote describe{*this, offset, nullptr};
  const ErrorNote note(describe);
  TK_RAISE(Parse, "{}: {}\n{}", place(offset), what, excerpt(offset));
}

void TokenStream::failExpected(std::string_view expected) const {
  const Token& token = peek();
  if (token.kind == TokenKind::Bad) fail(token, token.string);
  fail(token, fmt::format("unexpected {}; expected {}", describeToken(token), expected));
}

}  // namespace tokamak
