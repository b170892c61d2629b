// Any text as a host program: refused with a parse error, or read as a program whose print is read back as an equal
// one. Most inputs are valid programs with a few tokens or lines exchanged.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "host/ir/host_equal.h"
#include "host/ir/host_ir_container.h"
#include "host/ir/text/host_parser.h"
#include "host/ir/text/host_printer.h"
#include "text_mutator.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

[[noreturn]] void report(const char* what, std::string_view detail) {
  std::fprintf(stderr, "%s\n%.*s\n", what, static_cast<int>(detail.size()), detail.data());
  std::abort();
}

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

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned int seed) {
  std::minstd_rand random(seed);
  if (size == 0 || random() % 8 == 0) return LLVMFuzzerMutate(data, size, max_size);
  std::string text(reinterpret_cast<const char*>(data), size);
  if (random() % 4 != 0 && !validPrograms().empty()) text = validPrograms()[random() % validPrograms().size()];
  const auto rounds = 1 + random() % 2;
  for (unsigned i = 0; i < rounds && !text.empty(); ++i) text = tokamak::mutatedHostText(text, random);
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
