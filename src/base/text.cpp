#include "base/text.h"

#include <algorithm>

namespace tokamak {

std::vector<std::string_view> linesOf(std::string_view text) {
  std::vector<std::string_view> result;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    result.push_back(line);
  }
  return result;
}

}  // namespace tokamak
