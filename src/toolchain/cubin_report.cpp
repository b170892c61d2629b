#include "toolchain/cubin_report.h"

#include <algorithm>
#include <charconv>

namespace tokamak {

namespace {

// The number that stands in front of `words`: 16 in "8 bytes stack frame, 16 bytes spill stores".
int64_t numberBefore(std::string_view line, std::string_view words) {
  const size_t at = line.find(words);
  if (at == std::string_view::npos || at == 0) return 0;
  size_t begin = at;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
  int64_t number = 0;
  std::from_chars(line.data() + begin, line.data() + at, number);
  return number;
}

std::string_view quotedIn(std::string_view line) {
  const size_t begin = line.find('\'');
  const size_t end = begin == std::string_view::npos ? begin : line.find('\'', begin + 1);
  return end == std::string_view::npos ? std::string_view() : line.substr(begin + 1, end - begin - 1);
}

}  // namespace

std::vector<KernelResources> resourcesIn(std::string_view log) {
  std::vector<KernelResources> result;
  while (!log.empty()) {
    const std::string_view line = log.substr(0, log.find('\n'));
    log.remove_prefix(std::min(log.size(), line.size() + 1));
    if (line.find("Compiling entry function") != std::string_view::npos) {
      result.emplace_back().kernel = quotedIn(line);
    } else if (!result.empty() && line.find("bytes stack frame") != std::string_view::npos) {
      result.back().stack_bytes = numberBefore(line, " bytes stack frame");
      result.back().spill_store_bytes = numberBefore(line, " bytes spill stores");
      result.back().spill_load_bytes = numberBefore(line, " bytes spill loads");
    } else if (!result.empty() && line.find(" registers") != std::string_view::npos) {
      result.back().registers = numberBefore(line, " registers");
      result.back().barriers = numberBefore(line, " barriers");
      result.back().shared_bytes = numberBefore(line, " bytes smem");
    }
  }
  return result;
}

}  // namespace tokamak
