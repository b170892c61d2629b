// Any text as a host program: refused with a parse error, or read as a program whose print is read back as an equal one.
// Most inputs are valid programs with a few tokens or lines exchanged.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "host/host_equal.h"
#include "host/host_ir_container.h"
#include "host/text/host_parser.h"
#include "host/text/host_printer.h"
#include "ir/text/lexer.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

using tokamak::Token;

[[noreturn]] void report(const char* what, std::string_view detail) {
  std::fprintf(stderr, "%s\n%.*s\n", what, static_cast<int>(detail.size()), detail.data());
  std::abort();
}

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

// Valid programs met so far, in their canonical form: what most inputs are mutations of.
std::vector<std::string>& validPrograms() {
  static std::vector<std::string> programs;
  return programs;
}

void remember(std::string text) {
  constexpr size_t kMost = 512;
  std::vector<std::string>& programs = validPrograms();
  if (programs.size() < kMost) {
    programs.push_back(std::move(text));
    return;
  }
  static std::minstd_rand random(1);
  programs[random() % kMost] = std::move(text);
}

// Tells at the end how many inputs were programs, so that a mutator that makes only refused texts is noticed.
struct Tally {
  size_t inputs = 0;
  size_t programs = 0;
  ~Tally() { std::fprintf(stderr, "host_text: %zu of %zu inputs were programs\n", programs, inputs); }
};
Tally tally;

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

std::string mutated(std::string_view text, std::minstd_rand& random) {
  const auto below = [&](size_t count) { return std::uniform_int_distribution<size_t>(0, count - 1)(random); };
  const std::vector<Token> tokens = tokamak::tokensOf(text);
  const Token& at = tokens[below(tokens.size())];
  const Token& other = tokens[below(tokens.size())];
  std::string result(text);
  switch (below(10)) {
    case 0: return result.replace(at.offset, at.text.size(), other.text);
    case 1: return result.replace(at.offset, at.text.size(), kWords[below(std::size(kWords))]);
    case 2: return result.insert(at.offset, std::string(kWords[below(std::size(kWords))]) + " ");
    case 3: return result.erase(at.offset, at.text.size());
    case 4: {  // a line moves or is said twice
      const size_t begin = at.offset == 0 ? 0 : text.rfind('\n', at.offset - 1) + 1;
      const size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
      const std::string line(text.substr(begin, end > begin ? end - begin : 0));
      if (below(2) == 0) result.erase(begin, line.size());
      const size_t target = std::min(other.offset, result.size());
      const size_t newline = target == 0 ? std::string::npos : result.rfind('\n', target - 1);
      return result.insert(newline == std::string::npos ? 0 : newline + 1, line);
    }
    case 5:
    case 6: return replacedEverywhere(text, tokens, at, below(2) == 0 ? other.text : kWords[below(std::size(kWords))]);
    case 7: {
      std::string word(at.text);
      for (char& c : word) {
        if (c >= '0' && c <= '9') c = static_cast<char>('0' + below(10));
      }
      return replacedEverywhere(text, tokens, at, word);
    }
    default: {  // the digits of a name or number
      const size_t digits = at.text.find_first_of("0123456789");
      if (digits == std::string_view::npos) return result.insert(at.offset, "  ");
      return result.replace(at.offset + digits, 1, std::to_string(below(10)));
    }
  }
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned int seed) {
  std::minstd_rand random(seed);
  if (size == 0 || random() % 8 == 0) return LLVMFuzzerMutate(data, size, max_size);
  std::string text(reinterpret_cast<const char*>(data), size);
  if (random() % 4 != 0 && !validPrograms().empty()) text = validPrograms()[random() % validPrograms().size()];
  const auto rounds = 1 + random() % 2;
  for (unsigned i = 0; i < rounds && !text.empty(); ++i) text = mutated(text, random);
  const size_t length = std::min(text.size(), max_size);
  std::copy_n(text.begin(), length, data);
  return length;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::unique_ptr<tokamak::HostIrContainer> program;
  ++tally.inputs;
  try {
    program = tokamak::parseHostProgram(text, "input");
  } catch (const tokamak::Error& error) {
    if (error.code() != tokamak::ErrorCode::Parse) report("not a parse error", error.what());
    return 0;
  }
  const std::string printed = tokamak::printHostProgram(*program);
  ++tally.programs;
  remember(printed);
  try {
    const auto again = tokamak::parseHostProgram(printed, "printed");
    const std::string difference = tokamak::firstDifference(*program, *again);
    if (!difference.empty()) report("the print is read back as another program", difference + "\n" + printed);
  } catch (const tokamak::Error& error) {
    report("the print is refused", std::string(error.what()) + "\n" + printed);
  }
  return 0;
}
