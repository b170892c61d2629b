#include "text_mutator.h"

#include <algorithm>
#include <regex>
#include <utility>
#include <vector>

#include "ir/text/lexer.h"

namespace tokamak {

namespace {

// What a token may be exchanged for, beyond the tokens of the text itself.
constexpr const char* kWords[] = {"i0",
                                  "i2",
                                  "f3",
                                  "b4",
                                  "d5",
                                  "8",
                                  "0",
                                  "1",
                                  "-1",
                                  "float(0.5)",
                                  "( i0 * 8 )",
                                  "( ceilDiv(i0, 4) )",
                                  "none",
                                  "true",
                                  "false",
                                  "iS0{i0}",
                                  "rS1{i2}",
                                  "bS2{1 ex 32}",
                                  "iStreamIdx3{i0}",
                                  "ideviceIdx.x4{2}",
                                  "T0_g_float[iS0{i0}]",
                                  "T1_l___bfloat[]",
                                  "(DeviceMesh{0 1})",
                                  "(Partial{sum DIDx})",
                                  "Stream 0",
                                  "Stream ( i0 )",
                                  "Stream default",
                                  "FOR i9 in iS0{i0}:",
                                  "IF b4:",
                                  "ELSE:",
                                  "StartCoalescing",
                                  "EndCoalescing 1",
                                  "Wait Communication 0",
                                  "Domains:{",
                                  "Aliases:{",
                                  "Scalars:{",
                                  "HostUnit0{",
                                  "%Fusion f {",
                                  "}",
                                  "{",
                                  "(",
                                  ")",
                                  "[",
                                  "]",
                                  ",",
                                  ":",
                                  "=",
                                  "->",
                                  ";",
                                  "split",
                                  "merge",
                                  "logical",
                                  "Set",
                                  "matmul",
                                  "reduction",
                                  "expf",
                                  "pinned",
                                  "__half",
                                  "int"};

size_t below(size_t count, std::minstd_rand& random) {
  return std::uniform_int_distribution<size_t>(0, count - 1)(random);
}

// Every token that is written like `at`, written as `word`: all mentions of a part still agree.
std::string replacedEverywhere(std::string_view text, const std::vector<Token>& tokens, const Token& at,
                               std::string_view word) {
  std::string result;
  size_t done = 0;
  for (const Token& token : tokens) {
    if (token.text != at.text || token.text.empty()) continue;
    result += text.substr(done, token.offset - done);
    result += word;
    done = token.offset + token.text.size();
  }
  return result + std::string(text.substr(done));
}

// A tensor's mention: T2_g_float[iS0{i0}, iS1{i2}].
struct Mention {
  size_t begin = 0;
  size_t size = 0;
};

std::vector<Mention> mentionsOf(const std::string& text) {
  static const std::regex form(R"(\bT[0-9]+_[a-z]_\w+\[[^\]]*\])");
  std::vector<Mention> mentions;
  for (auto at = std::sregex_iterator(text.begin(), text.end(), form); at != std::sregex_iterator(); ++at)
    mentions.push_back({static_cast<size_t>(at->position()), static_cast<size_t>(at->length())});
  return mentions;
}

void replaceAll(std::string& text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

// Another domain or type for the tensor: what stands between the brackets, or before them.
std::string changedMention(std::string mention, std::minstd_rand& random) {
  static constexpr const char* kOtherAxes[] = {"iS90{i0}",          "iS91{i2}", "iS92{3}", "bS93{1}",
                                               "bS94{1 ex 3}",      "rS95{i0}", "iS96{0}", "iStreamIdx97{i0}",
                                               "iS98{( i0 * i2 )}", "iS99{1}"};
  static constexpr const char* kTypeWords[] = {"double", "float", "__half", "__bfloat", "int", "int64_t", "bool"};
  const size_t open = mention.find('[');
  std::vector<std::string> axes;
  for (size_t at = open + 1; at < mention.size() - 1;) {
    size_t end = mention.find("}, ", at);
    end = end == std::string::npos ? mention.size() - 1 : end + 1;
    axes.push_back(mention.substr(at, end - at));
    at = end + 2;
  }
  const std::string axis = kOtherAxes[below(std::size(kOtherAxes), random)];
  const size_t place = below(axes.size() + 1, random);
  switch (below(5, random)) {
    case 0: axes.insert(axes.begin() + static_cast<std::ptrdiff_t>(place), axis); break;
    case 1:
      if (place < axes.size()) axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(place));
      break;
    case 2:
      if (place < axes.size()) axes[place] = axis;
      break;
    case 3:
      if (place < axes.size()) std::swap(axes[place], axes[0]);
      break;
    default: mention.replace(mention.find('_') + 3, open - mention.find('_') - 3, kTypeWords[below(7, random)]);
  }
  std::string changed = mention.substr(0, mention.find('[') + 1);
  for (size_t i = 0; i < axes.size(); ++i) changed += (i == 0 ? "" : ", ") + axes[i];
  return changed + "]";
}

// The line of a statement and those that go on with it, which are indented by an odd number of blanks more.
Mention statementAt(const std::string& text, size_t at) {
  const auto indentation = [&](size_t line) { return text.find_first_not_of(' ', line) - line; };
  const auto next = [&](size_t line) { return std::min(text.find('\n', line), text.size() - 1) + 1; };
  size_t begin = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;
  while (begin > 1 && indentation(begin) % 2 == 1) begin = text.rfind('\n', begin - 2) + 1;
  size_t end = next(begin);
  while (end < text.size() && indentation(end) % 2 == 1) end = next(end);
  return {begin, end - begin};
}

}  // namespace

std::string mutatedHostProgram(std::string_view source, std::minstd_rand& random) {
  std::string text(source);
  const std::vector<Mention> mentions = mentionsOf(text);
  if (mentions.empty()) return text;
  const Mention at = mentions[below(mentions.size(), random)];
  const Mention other = mentions[below(mentions.size(), random)];
  const std::string there = text.substr(other.begin, other.size);
  const Mention statement = statementAt(text, at.begin);
  const std::string said = text.substr(statement.begin, statement.size);
  switch (below(8, random)) {
    case 0: return text.erase(statement.begin, statement.size);
    case 1: return text.insert(statementAt(text, other.begin).begin, said);
    case 2: {  // it moves
      const size_t to = statementAt(text, other.begin).begin;
      if (to > statement.begin && to < statement.begin + statement.size) return text;
      text.insert(to, said);
      return text.erase(statement.begin + (to <= statement.begin ? said.size() : 0), said.size());
    }
    case 3:
    case 4: {
      const std::string here = text.substr(at.begin, at.size);
      replaceAll(text, here, changedMention(here, random));
      return text;
    }
    default: return text.replace(at.begin, at.size, there);
  }
}

std::string mutatedHostText(std::string_view text, std::minstd_rand& random) {
  const std::vector<Token> tokens = tokensOf(text);
  const Token& at = tokens[below(tokens.size(), random)];
  const Token& other = tokens[below(tokens.size(), random)];
  std::string result(text);
  switch (below(10, random)) {
    case 0: return result.replace(at.offset, at.text.size(), other.text);
    case 1: return result.replace(at.offset, at.text.size(), kWords[below(std::size(kWords), random)]);
    case 2: return result.insert(at.offset, std::string(kWords[below(std::size(kWords), random)]) + " ");
    case 3: return result.erase(at.offset, at.text.size());
    case 4: {  // a line moves or is said twice
      const size_t begin = at.offset == 0 ? 0 : text.rfind('\n', at.offset - 1) + 1;
      const size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
      const std::string line(text.substr(begin, end > begin ? end - begin : 0));
      if (below(2, random) == 0) result.erase(begin, line.size());
      const size_t target = std::min(other.offset, result.size());
      const size_t newline = target == 0 ? std::string::npos : result.rfind('\n', target - 1);
      return result.insert(newline == std::string::npos ? 0 : newline + 1, line);
    }
    case 5:
    case 6:
      return replacedEverywhere(text, tokens, at,
                                below(2, random) == 0 ? other.text : kWords[below(std::size(kWords), random)]);
    case 7: {
      std::string word(at.text);
      for (char& c : word) {
        if (c >= '0' && c <= '9') c = static_cast<char>('0' + below(10, random));
      }
      return replacedEverywhere(text, tokens, at, word);
    }
    default: {  // the digits of a name or number
      const size_t digits = at.text.find_first_of("0123456789");
      if (digits == std::string_view::npos) return result.insert(at.offset, "  ");
      return result.replace(at.offset + digits, 1, std::to_string(below(10, random)));
    }
  }
}

}  // namespace tokamak
