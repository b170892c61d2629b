#include "report/text_width.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace tokamak {

namespace {

// Helvetica, from the blank (32) to the tilde (126).
constexpr std::array<int16_t, 95> kAdvances = {
    278,  278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278,  // blank to /
    556,  556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556,  // 0 to ?
    1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778,  // @ to O
    667,  778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556,  // P to _
    333,  556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556,  // ` to o
    556,  556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584};      // p to ~
constexpr double kWidest = 1.0;
constexpr double kOfMiddleDot = 0.278;
constexpr std::string_view kMiddleDot = "\xC2\xB7";
constexpr double kBold = 1.09;  // the widest ratio of a lower-case word in Helvetica-Bold to the same in Helvetica

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
constexpr std::string_view kDots = "...";

bool isContinuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

// How many bytes of UTF-8 the character at the beginning has; 0 where it is none or XML 1.0 forbids it.
size_t characterBytes(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return first >= 0x20 || first == '\t' || first == '\n' ? (first == 0x7F ? 0 : 1) : 0;
  const size_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < bytes) return 0;
  uint32_t code = first & (0xFFU >> (bytes + 1));
  for (size_t i = 1; i < bytes; ++i) {
    if (!isContinuation(text[i])) return 0;
    code = code << 6 | (static_cast<unsigned char>(text[i]) & 0x3FU);
  }
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = code >= 0xD800 && code <= 0xDFFF;
  const bool is_control = code < 0xA0 || code == 0xFFFE || code == 0xFFFF;
  return code < kLeast[bytes] || code > 0x10FFFF || is_surrogate || is_control ? 0 : bytes;
}

// Of a text that is UTF-8: its first `count` bytes, or fewer where these end in a character.
std::string_view firstBytes(std::string_view text, size_t count) {
  while (count > 0 && count < text.size() && isContinuation(text[count])) --count;
  return text.substr(0, count);
}

std::string_view lastBytes(std::string_view text, size_t count) {
  while (count > 0 && isContinuation(text[text.size() - count])) --count;
  return text.substr(text.size() - count);
}

}  // namespace

double textWidth(std::string_view text, double size, FontWeight weight) {
  double width = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (isContinuation(c)) continue;
    const bool is_known = c >= ' ' && c <= '~';
    const bool is_dot = text.substr(i).starts_with(kMiddleDot);
    width += is_known ? kAdvances[static_cast<size_t>(c - ' ')] / 1000.0 : is_dot ? kOfMiddleDot : kWidest;
  }
  return width * size * (weight == FontWeight::Bold ? kBold : 1.0);
}

std::string printableText(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const size_t bytes = characterBytes(text);
    result += bytes == 0 ? kReplacement : text.substr(0, bytes);
    text.remove_prefix(std::max<size_t>(bytes, 1));
  }
  return result;
}

std::string elidedText(std::string_view text, double width, double size, FontWeight weight) {
  std::string whole = printableText(text);
  if (textWidth(whole, size, weight) <= width) return whole;
  // Four bytes of the narrowest letter are more than fits.
  const auto most = static_cast<size_t>(4 * std::max(width, 0.0) / (0.19 * size));
  for (size_t kept = std::min(whole.size() - 1, most); kept > 0; --kept) {
    std::string shorter(firstBytes(whole, (kept + 1) / 2));
    shorter += kDots;
    shorter += lastBytes(whole, kept / 2);
    if (textWidth(shorter, size, weight) <= width) return shorter;
  }
  return std::string(kDots);
}

std::vector<std::string> wrappedText(std::string_view text, double width, double size, size_t most_lines) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of(" \n\t"), text.size());
    const std::string word = elidedText(text.substr(0, end), width, size);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word.empty()) continue;
    if (!lines.empty() && textWidth(lines.back() + " " + word, size) <= width) {
      lines.back() += " " + word;
      continue;
    }
    if (lines.size() == most_lines) {
      while (textWidth(lines.back() + " ...", size) > width && lines.back().find(' ') != std::string::npos)
        lines.back().resize(lines.back().rfind(' '));
      lines.back() = elidedText(lines.back() + " ...", width, size);
      return lines;
    }
    lines.push_back(word);
  }
  return lines;
}

}  // namespace tokamak
