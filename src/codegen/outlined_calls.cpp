#include "codegen/outlined_calls.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

namespace tokamak {

namespace {

// The most characters of inlined helpers in a compilation unit. With 384 KiB a chain of 500 philox compiles in 5.2 s.
// With 256 KiB rope_bwd in bf16 calls some of its 330 conversions (130 us instead of 98), with 96 most (212 us).
constexpr size_t kMostExpanded = 320 << 10;
// A helper of this length takes as many instructions as a call.
constexpr size_t kLeastOutlined = 160;
constexpr std::string_view kExpanded = "TK_FN ";
constexpr std::string_view kOutlined = "TK_SLOW ";

bool isWordCharacter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Calls `visit` with the name of each function that the text calls or defines.
template <class Visit>
void forEachCall(std::string_view text, const Visit& visit) {
  for (size_t at = text.find("tk_"); at != std::string_view::npos; at = text.find("tk_", at)) {
    size_t end = at;
    while (end < text.size() && isWordCharacter(text[end])) ++end;
    if ((at == 0 || !isWordCharacter(text[at - 1])) && end < text.size() && text[end] == '(')
      visit(text.substr(at, end - at));
    at = end;
  }
}

struct Helper {
  std::string_view name;
  size_t offset = 0;    // of its definition
  size_t expanded = 0;  // its length, callees included
  size_t calls = 0;     // in kernels
};

// Whether a line is `if (A == B ...` with two different numbers: a branch for other numbers of lanes.
bool startsDeadBranch(std::string_view line) {
  int a = 0;
  int b = 0;
  return std::sscanf(std::string(line).c_str(), " if (%d == %d", &a, &b) == 2 && a != b;
}

// The characters of statements that become code; of an #if, those of the longest alternative.
size_t lengthOf(std::string_view text) {
  constexpr size_t kStatement = 48;
  size_t length = 0;
  struct Alternatives {
    size_t before;   // the length before the #if
    size_t longest;  // of the alternatives that have ended
  };
  std::vector<Alternatives> open;
  std::string end_of_dead;  // the line at which a dead branch ends
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end);
    const size_t indent = std::min(line.find_first_not_of(' '), line.size());
    const std::string_view code = line.substr(indent);
    if (!end_of_dead.empty()) {
      if (line.starts_with(end_of_dead)) end_of_dead.clear();
    } else if (code.starts_with("#if")) {
      open.push_back({length, 0});
    } else if (code.starts_with("#el") || code.starts_with("#endif")) {
      if (open.empty()) continue;
      open.back().longest = std::max(open.back().longest, length - open.back().before);
      length = open.back().before;
      if (!code.starts_with("#endif")) continue;
      length += open.back().longest;
      open.pop_back();
    } else if (startsDeadBranch(line)) {
      end_of_dead = std::string(indent, ' ') + "}";
    } else if (!code.starts_with("typedef") && !code.starts_with("/")) {
      length += kStatement * static_cast<size_t>(std::ranges::count(code, ';'));
    }
  }
  return length;
}

// In the order of the source, which has callees first.
std::vector<Helper> helpersOf(std::string_view text) {
  std::vector<Helper> helpers;
  std::map<std::string_view, size_t> expanded;
  for (size_t at = text.find(kExpanded); at != std::string_view::npos; at = text.find(kExpanded, at + 1)) {
    if (at > 0 && text[at - 1] != '\n') continue;
    const size_t end = std::min({text.find("\nTK_FN ", at), text.find("\nTK_SLOW ", at), text.size()});
    const std::string_view definition = text.substr(at, end - at);
    Helper helper{.name = {}, .offset = at, .expanded = lengthOf(definition), .calls = 0};
    forEachCall(definition, [&](std::string_view called) {
      if (helper.name.empty()) {
        helper.name = called;
      } else if (const auto known = expanded.find(called); known != expanded.end()) {
        helper.expanded += known->second;
      }
    });
    expanded[helper.name] = helper.expanded;
    helpers.push_back(helper);
  }
  return helpers;
}

}  // namespace

std::string outlineHelpers(std::string text, std::span<const std::string_view> kernels) {
  std::vector<Helper> helpers = helpersOf(text);
  std::map<std::string_view, Helper*> named;
  for (Helper& helper : helpers) named[helper.name] = &helper;
  size_t expanded = 0;
  for (const std::string_view kernel : kernels) {
    forEachCall(kernel, [&](std::string_view called) {
      const auto found = named.find(called);
      if (found == named.end()) return;
      ++found->second->calls;
      expanded += found->second->expanded;
    });
  }
  std::erase_if(helpers, [](const Helper& helper) { return helper.calls < 2 || helper.expanded < kLeastOutlined; });
  std::ranges::stable_sort(helpers, {}, [](const Helper& helper) { return helper.calls * helper.expanded; });
  std::vector<size_t> offsets;
  for (; expanded > kMostExpanded && !helpers.empty(); helpers.pop_back()) {
    offsets.push_back(helpers.back().offset);
    expanded -= helpers.back().calls * helpers.back().expanded;
  }
  std::ranges::sort(offsets);
  for (size_t i = offsets.size(); i-- > 0;) text.replace(offsets[i], kExpanded.size(), kOutlined);
  return text;
}

}  // namespace tokamak
