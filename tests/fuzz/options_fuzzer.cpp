// Any text as values of command line options: refused with a Usage error, or an option that does what it says. The
// first byte tells which.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/dump_options.h"
#include "base/error.h"
#include "ir/text/fusion_parser.h"
#include "tools/program_file.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

using namespace tokamak;

void require(bool condition, const char* what, std::string_view text) {
  if (condition) return;
  std::fprintf(stderr, "%s: '%.*s'\n", what, static_cast<int>(text.size()), text.data());
  std::abort();
}

void dump(const std::string& text) {
  const DumpOptions options(text);
  const std::string long_name(200, 'a');
  for (const std::string_view stage : DumpOptions::stages()) {
    for (const std::string_view name : {std::string_view("softmax"), std::string_view(""), std::string_view(long_name)})
      options.wants(stage, name);
    const bool asks = text.find(stage) != std::string::npos;
    require(asks || !options.wants(stage, "softmax"), "a stage that was not named is dumped", text);
  }
}

void sizes(const std::string& text) {
  static const auto fusion =
      parseFusion("fusion f(T0: f32[i0, i2]) -> T1 { T1 = set(T0) } sizes { i0 = 4, i2 = 8 }", "fuzz");
  std::vector<std::string> list;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    list.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  const auto values = tools::readSizes(*fusion, list);
  for (const auto& [name, value] : values)
    require(value >= 0 && (name == "i0" || name == "i2"), "a size is taken that the program has not", text);
}

void assignment(const std::string& text) {
  for (const auto& [name, value] : tools::readAssignments("--input", {text}))
    require(!name.empty() && name + "=" + value == text, "the parts are not the whole", text);
}

constexpr const char* kPieces[] = {"fusion",
                                   "host_ir",
                                   "host_ir_final",
                                   "plan",
                                   "segments",
                                   "schedule",
                                   "kernel_passes",
                                   "kernel_ir",
                                   "source",
                                   ":",
                                   ",",
                                   "*",
                                   "soft*",
                                   "a*a*a*a*a*a*b",
                                   "i0=4",
                                   "i2=",
                                   "=",
                                   " ",
                                   "i0=-1",
                                   "i9=3",
                                   "i0=99999999999999999999",
                                   "0x10",
                                   "T0=x.npy",
                                   "i0 = 3",
                                   "i0=3.5",
                                   "i0=+3"};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    switch (data[0] % 3) {
      case 0: dump(text); break;
      case 1: sizes(text); break;
      default: assignment(text); break;
    }
  } catch (const Error& error) {
    require(error.code() == ErrorCode::Usage, error.what(), text);
  }
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  std::minstd_rand random(seed);
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  if (below(4) == 0) return LLVMFuzzerMutate(data, size, max_size);
  std::string text(1, static_cast<char>(below(256)));
  for (size_t pieces = 1 + below(5); pieces > 0; --pieces) text += kPieces[below(std::size(kPieces))];
  if (below(3) == 0) text[below(text.size())] = static_cast<char>(below(256));
  const size_t length = std::min(text.size(), max_size);
  std::copy_n(text.begin(), length, data);
  return length;
}
