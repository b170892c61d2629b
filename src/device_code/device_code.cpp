#include "device_code/device_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <set>
#include <utility>

#include "base/require.h"
#include "device_code/sources.h"

namespace tokamak {

namespace {

struct Name {
  std::string_view stem;  // "exp"
  std::string_view type;  // "f32x16"
};

Name split(std::string_view helper) {
  const size_t at = helper.rfind('_');
  if (at == std::string_view::npos) return {helper, ""};
  return {helper.substr(0, at), helper.substr(at + 1)};
}

// "f32x16" in its parts; an element's name may be empty: "x16" is a source for all vectors of as many lanes.
struct LanesName {
  std::string_view element;
  std::string_view count;
};

std::optional<LanesName> lanesNameOf(std::string_view type) {
  const size_t at = type.find('x');
  if (at == std::string_view::npos || at + 1 == type.size()) return std::nullopt;
  const LanesName name = {type.substr(0, at), type.substr(at + 1)};
  const bool is_count = std::ranges::all_of(name.count, [](unsigned char c) { return std::isdigit(c) != 0; });
  return is_count ? std::optional(name) : std::nullopt;
}

std::vector<std::string_view> laneFolders(std::string_view element) {
  if (element == "f32") return {"c/lanes", "any/f32_lanes", "c/float_lanes", "any/floating_lanes", "c/element_lanes"};
  if (element == "f64")
    return {"c/f64_lanes", "any/f64_lanes", "c/float_lanes", "any/floating_lanes", "c/element_lanes"};
  if (element == "i32" || element == "i64" || element == "i8")
    return {"c/integer_lanes", "any/integer_lanes", "c/element_lanes"};
  return {"c/vectors"};
}

// Folders that may hold the source, the first that does is taken: a dialect's own before what all share.
std::vector<std::string_view> folders(Dialect dialect, std::string_view type) {
  const bool is_c = dialect == Dialect::C;
  const std::string_view own = is_c ? "c/element" : "";
  if (type == "f32")
    return {is_c ? "c/f32" : "cuda/f32", "any/f32", "any/f32_lanes", "any/floating", "any/floating_lanes", own};
  if (type == "f64")
    return {is_c ? "c/f64" : "cuda/f64", "any/f64", "any/f64_lanes", "any/floating", "any/floating_lanes", own};
  if (type == "i32" || type == "i64")
    return {is_c ? "c/integer" : "cuda/integer", "any/integer", "any/integer_lanes", own};
  const auto lanes = lanesNameOf(type);
  if (is_c && lanes) return laneFolders(lanes->element);
  return {};
}

const DeviceSource* sourceAt(std::string_view path) {
  const auto sources = deviceSources();
  const auto found = std::ranges::lower_bound(sources, path, {}, &DeviceSource::path);
  return found != sources.end() && found->path == path ? &*found : nullptr;
}

const DeviceSource* findSource(Dialect dialect, std::string_view helper) {
  const auto [stem, type] = split(helper);
  for (const std::string_view folder : folders(dialect, type)) {
    if (const DeviceSource* source = sourceAt(fmt::format("{}/{}", folder, stem))) return source;
  }
  return nullptr;
}

// The words that stand for the type a source is made for, and what they become.
using Words = std::vector<std::pair<std::string_view, std::string>>;

Words wordsOf(std::string_view type) {
  Words words = {{"TYPE", std::string(type)}, {"TK_T", fmt::format("tk_{}", type)}};
  const auto lanes = lanesNameOf(type);
  const std::string_view element = lanes ? lanes->element : type;
  const std::string count = lanes ? fmt::format("x{}", lanes->count) : "";
  const std::string_view width = element == "f64" || element == "i64" ? "64" : element == "i8" ? "8" : "32";
  words.emplace_back("TK_E", fmt::format("tk_{}", element));
  words.emplace_back("TK_I", fmt::format("tk_i{}{}", width, count));
  words.emplace_back("TK_U", fmt::format("tk_u{}{}", width, count));
  words.emplace_back("TK_M", lanes ? fmt::format("tk_i{}{}", width, count) : "tk_i32");
  words.emplace_back("TK_H", "tk_u16" + count);
  if (!lanes) return words;
  words.emplace_back("LANES", lanes->count);
  words.emplace_back("HALF", std::to_string(std::max(2, std::stoi(std::string(lanes->count)) / 2)));
  return words;
}

bool isWordCharacter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Replaces words where they end an identifier.
std::string replaceWords(std::string_view source, const Words& words) {
  std::string result;
  for (size_t i = 0; i < source.size();) {
    const std::string_view rest = source.substr(i);
    const auto found = std::ranges::find_if(words, [&](const auto& word) {
      return rest.starts_with(word.first) &&
             (rest.size() == word.first.size() || !isWordCharacter(rest[word.first.size()]));
    });
    if (found == words.end()) {
      result += source[i++];
    } else {
      result += found->second;
      i += found->first.size();
    }
  }
  return result;
}

// A source made for one type: what it needs, and the code below the first line, which says so.
struct Helper {
  std::vector<std::string> needs;
  std::string code;
};

Helper parse(std::string_view source) {
  const std::string_view mark = "// needs:";
  const size_t end = source.find('\n');
  TK_CHECK(source.starts_with(mark) && end != std::string_view::npos,
           "device code: a text's first line says what it needs");
  Helper helper;
  std::string_view line = source.substr(mark.size(), end - mark.size());
  while (!line.empty()) {
    const size_t length = std::min(line.find(' '), line.size());
    if (length > 0) helper.needs.emplace_back(line.substr(0, length));
    line.remove_prefix(std::min(length + 1, line.size()));
  }
  helper.code = source.substr(end + 1);
  return helper;
}

class Assembly {
 public:
  explicit Assembly(Dialect dialect) : dialect_(dialect) {
    const DeviceSource* source = sourceAt(dialect == Dialect::C ? "c/dialect" : "cuda/dialect");
    TK_CHECK(source != nullptr, "device code: the dialect's own text is embedded");
    code_ = parse(source->source).code;
  }

  void add(std::string_view name) {
    if (!begun_.emplace(name).second) return;
    const DeviceSource* source = findSource(dialect_, name);
    if (source == nullptr) {
      TK_RAISE(Internal, "device code: there is no helper {} for {}", name, dialect_ == Dialect::C ? "C" : "CUDA");
    }
    // What has lanes has the types of all vectors of as many lanes.
    if (const auto lanes = lanesNameOf(split(name).type); lanes && !lanes->element.empty())
      add(fmt::format("vectors_x{}", lanes->count));
    const Helper helper = parse(replaceWords(source->source, wordsOf(split(name).type)));
    for (const std::string& need : helper.needs) add(need);
    code_ += "\n" + helper.code;
  }

  std::string finish() && { return std::move(code_); }

 private:
  Dialect dialect_;
  std::string code_;
  std::set<std::string, std::less<>> begun_;
};

}  // namespace

std::string deviceTypeName(LaneType type) {
  const std::string_view name = dataTypeName(type.type);
  if (type.lanes == 1) return fmt::format("tk_{}", name);
  if (isHalfType(type.type)) return fmt::format("tk_u16x{}", type.lanes);
  if (type.type == DataType::Bool) return fmt::format("tk_i{}x{}", 8 * type.mask_bytes, type.lanes);
  return fmt::format("tk_{}x{}", name, type.lanes);
}

std::string deviceCode(Dialect dialect, std::span<const std::string> helpers) {
  Assembly assembly(dialect);
  for (const std::string& helper : helpers) assembly.add(helper);
  return std::move(assembly).finish();
}

bool hasHelper(Dialect dialect, std::string_view name) { return findSource(dialect, name) != nullptr; }

std::vector<std::string> allHelpers(Dialect dialect) {
  std::set<std::string> names;
  for (const DeviceSource& source : deviceSources()) {
    const std::string_view stem = source.path.substr(source.path.rfind('/') + 1);
    for (const std::string_view type : {"f32", "f64", "i32", "i64"}) {
      const std::string name = fmt::format("{}_{}", stem, type);
      if (hasHelper(dialect, name)) names.insert(name);
    }
  }
  return {names.begin(), names.end()};
}

}  // namespace tokamak
