#include "base/dump_options.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/require.h"
#include "base/text.h"

namespace tokamak {

namespace {

constexpr std::string_view kStages[] = {"fusion",        "segments",  "host_ir", "host_ir_final", "schedule",
                                        "kernel_passes", "kernel_ir", "source",  "plan"};

// When the text after a '*' does not fit, the last '*' takes one character more: never more than text x pattern steps.
bool matches(std::string_view text, std::string_view pattern) {
  size_t at = 0;
  size_t next = 0;
  size_t star = std::string_view::npos;
  size_t taken = 0;  // the first character that the last '*' does not stand for
  while (at < text.size()) {
    if (next < pattern.size() && pattern[next] == '*') {
      star = next++;
      taken = at;
    } else if (next < pattern.size() && pattern[next] == text[at]) {
      ++next;
      ++at;
    } else if (star != std::string_view::npos) {
      next = star + 1;
      at = ++taken;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', next) == std::string_view::npos;
}

}  // namespace

DumpOptions::DumpOptions(std::string_view text) {
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    const std::string_view item = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    const size_t colon = std::min(item.find(':'), item.size());
    const std::string_view stage = item.substr(0, colon);
    TK_REQUIRE(std::ranges::find(kStages, stage) != std::end(kStages), Usage,
               "dump: there is no stage '{}'\n  grammar: STAGE[:PATTERN][,STAGE[:PATTERN]]...\n  STAGE: {}\n  PATTERN: "
               "the program's name, '*' "
               "stands for anything",
               stage, joined(kStages, " | "));
    items_.push_back({std::string(stage), colon < item.size() ? std::string(item.substr(colon + 1)) : "*"});
  }
}

bool DumpOptions::wants(std::string_view stage, std::string_view name) const {
  return std::ranges::any_of(items_,
                             [&](const Item& item) { return item.stage == stage && matches(name, item.pattern); });
}

std::vector<std::string_view> DumpOptions::stages() { return {std::begin(kStages), std::end(kStages)}; }

}  // namespace tokamak
