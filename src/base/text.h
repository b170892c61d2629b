// Characters and lines, as every text of the house counts them.
#pragma once

#include <string_view>
#include <vector>

namespace tokamak {

/// Whether the character is one of 0 to 9, whatever the locale.
constexpr bool isDigit(char c) { return c >= '0' && c <= '9'; }

/// The text's lines without their ends; a line break at the end of the text starts no further line.
std::vector<std::string_view> linesOf(std::string_view text);

}  // namespace tokamak
