#include "tools/error_place.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <string_view>

#include <fmt/format.h>

namespace tokamak::tools {

namespace {

bool isNamePart(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

// A name that is no part of a longer one; host programs write T3 as T3_l_float.
bool isWhole(std::string_view text, size_t at, size_t end) {
  return (at == 0 || (!isNamePart(text[at - 1]) && text[at - 1] != '_')) &&
         (end >= text.size() || !isNamePart(text[end]));
}

// The first "T<digits>" of a text; empty if there is none.
std::string_view firstNumbered(std::string_view text) {
  for (size_t at = text.find('T'); at != std::string_view::npos; at = text.find('T', at + 1)) {
    const size_t end = std::min(text.find_first_not_of("0123456789", at + 1), text.size());
    if (end > at + 1 && isWhole(text, at, end)) return text.substr(at, end - at);
  }
  return {};
}

// The first tensor of the program that a text shows with its type, as "x: f32[n]"; empty if there is none. A name alone
// may be any word.
std::string_view firstNamed(std::string_view text, const Fusion& program) {
  size_t first = std::string_view::npos;
  size_t length = 0;
  for (const TensorView* tensor : program.allTensors()) {
    if (tensor->name().empty()) continue;
    const size_t at = text.find(fmt::format("{}: {}[", tensor->name(), dataTypeName(tensor->dtype())));
    if (at >= first || !isWhole(text, at, at + tensor->name().size())) continue;
    first = at;
    length = tensor->name().size();
  }
  return first == std::string_view::npos ? std::string_view() : text.substr(first, length);
}

bool isInComment(std::string_view text, size_t at) {
  const size_t line = text.rfind('\n', at) + 1;  // npos + 1 is 0
  return text.substr(line, at - line).find("//") != std::string_view::npos;
}

// Where `tensor` is defined: followed by its type or by what it is, in host programs ("T3_l_float[...]") at its first
// place.
std::optional<size_t> definitionOf(std::string_view tensor, std::string_view text) {
  std::optional<size_t> first;
  for (size_t at = text.find(tensor); at != std::string_view::npos; at = text.find(tensor, at + 1)) {
    const size_t end = at + tensor.size();
    if (!isWhole(text, at, end) || isInComment(text, at)) continue;
    if (!first) first = at;
    const size_t next = text.find_first_not_of(" \t\r\n", end);
    if (next != std::string_view::npos && (text[next] == ':' || text[next] == '=')) return at;
  }
  return first;
}

// The result of the second step that the first race of a message names, "`T2 = neg(T1)`"; empty where it is the caller.
std::string_view secondOfRace(std::string_view message) {
  const size_t start = message.find("race on ");
  if (start == std::string_view::npos) return {};
  const std::string_view race = message.substr(start, message.find('\n', start) - start);
  const size_t end = race.rfind('`');
  if (end == std::string_view::npos || end == 0) return {};
  const std::string_view step = race.substr(race.rfind('`', end - 1) + 1);
  const size_t equals = step.find(" = ");
  return equals < step.find('`') ? firstNumbered(step.substr(0, equals)) : std::string_view();
}

// Where a host program computes `tensor`: the first line that begins with it and is no ALLOCATE.
std::optional<size_t> statementOf(std::string_view tensor, std::string_view text) {
  if (tensor.empty()) return std::nullopt;
  for (size_t at = text.find(tensor); at != std::string_view::npos; at = text.find(tensor, at + 1)) {
    const size_t line = text.rfind('\n', at) + 1;
    const bool is_first = text.find_first_not_of(' ', line) == at;
    if (is_first && isWhole(text, at, at + tensor.size()) &&
        text.substr(at, text.find('\n', at) - at).find(" = ALLOCATE(") == std::string_view::npos)
      return at;
  }
  return std::nullopt;
}

// Where `word` stands in the line that begins at or around `at`.
std::optional<size_t> inLine(std::string_view word, std::string_view text, size_t at) {
  const size_t line = text.rfind('\n', at) + 1;  // npos + 1 is 0
  const size_t found = text.substr(0, text.find('\n', at)).find(word, line);
  return found == std::string_view::npos ? std::nullopt : std::optional(found);
}

// The size or the axis that the verifier of host programs names: its rows `allocations` and `parts`.
std::optional<size_t> wrongAttribute(std::string_view message, std::string_view text) {
  if (message.find("(allocations)") != std::string_view::npos) {
    const std::string_view tensor = firstNumbered(message);
    for (size_t at = text.find(tensor); at != std::string_view::npos; at = text.find(tensor, at + 1)) {
      const auto size = inLine(" = ALLOCATE(", text, at) ? inLine("size=", text, at) : std::nullopt;
      if (size && isWhole(text, at, at + tensor.size())) return size;
    }
  }
  if (message.find("(parts)") != std::string_view::npos) {
    for (size_t at = text.find("axis="); at != std::string_view::npos; at = text.find("axis=", at + 1))
      if (inLine("Communication ", text, at) && inLine("parts=(", text, at)) return at;
  }
  return std::nullopt;
}

bool isOfProgram(ErrorCode code) {
  return code == ErrorCode::Definition || code == ErrorCode::Schedule || code == ErrorCode::HostProgram ||
         code == ErrorCode::Race || code == ErrorCode::Bind;
}

// npos: it is not told.
size_t placeOf(const Error& error, std::string_view tensor, std::string_view text) {
  constexpr size_t kNowhere = std::string_view::npos;
  if (error.code() == ErrorCode::Race) {
    if (const auto at = statementOf(secondOfRace(error.what()), text)) return *at;
  } else if (error.code() == ErrorCode::HostProgram) {
    if (const auto at = wrongAttribute(error.what(), text)) return *at;
  }
  return tensor.empty() ? kNowhere : definitionOf(tensor, text).value_or(kNowhere);
}

}  // namespace

Error withPlace(const Error& error, const ProgramFile& file) {
  const std::string_view message = error.what();
  const std::string_view text = file.text;
  if (!isOfProgram(error.code()) || message.find(file.path + ":") != std::string_view::npos) return error;
  std::string_view tensor = file.fusion != nullptr ? firstNamed(message, *file.fusion) : std::string_view();
  if (tensor.empty()) tensor = firstNumbered(message);
  const size_t found = placeOf(error, tensor, text);
  if (found == std::string_view::npos) return error;
  const size_t line_start = text.rfind('\n', found) + 1;
  const auto line_number = std::ranges::count(text.substr(0, found), '\n') + 1;
  // Columns count characters: bytes that do not continue one.
  const auto before = text.substr(line_start, found - line_start);
  const auto column =
      std::ranges::count_if(before, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }) + 1;
  const std::string_view line = text.substr(line_start, std::min(text.find('\n', found), text.size()) - line_start);
  return {error.code(),
          fmt::format("{}:{}:{}: {}\n{}\n{:>{}}", file.path, line_number, column, message, line, '^', column)};
}

}  // namespace tokamak::tools
