// Any text as a .fusion file: refused with an error of the caller's, or a program whose text reads back as the same
// program. Three of four inputs are mutations of valid programs: tokens exchanged, doubled, left out or replaced.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

#include "../unit/schedule/loop_commands.h"
#include "base/error.h"
#include "ir/equal.h"
#include "ir/text/fusion_parser.h"
#include "ir/text/fusion_printer.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

using namespace tokamak;

constexpr const char* kPrograms[] = {
    "fusion softmax(T0: bf16[i0, i2]) -> T7 { T1 = cast(T0, dtype=f32) T2 = max(T1, axes=[1]) T3 = sub(T1, "
    "broadcast(T2, flags=[false, true])) "
    "T4: f32[i0, i2] = exp(T3) T5 = sum(T4, axes=[-1]) T6 = mul(T4, broadcast(T5, flags=[false, true])) T7 = cast(T6, "
    "dtype=bf16) } "
    "sizes { i0 = 4, i2 = 8 } schedule { split(T7, axis=0, factor=128) parallelize(T7, axis=0, type=Stream) }",
    "fusion f(T0: f32[i0 strided, 1 ex i2] in host, T1: f32[i0, i2] stride_order(0, 1) mesh((0, 1), (2, 3)), s: f32) "
    "-> (T2 aliases T1 hidden, T3) { "
    "symbol n: i64 T2: f32[i0, i2] = where(lt(T0, 0.5), add(T1, rsqrt(s)), -inf) T3 = reshape(T2, shape=[i0 * i2, 1, "
    "ceilDiv(n, 4) / n]) }",
    "fusion g(T0: f32[i0, i2], T1: f32[i2, 8]) -> T5 { T2 = matmul(T0, T1) T3 = linear(T0, permute(T1, order=[1, 0])) "
    "T4 = cat([T2, T3], axis=-1) "
    "T5 = slice(pad(T4, widths=[1, 1, 0, 0], value=nan), starts=[0, 0], stops=[i0, 3]) } schedule { merge(T5, axis=0) "
    "split(T5, axis=0, factor=i0, inner_split=false) "
    "reorder(T5, order=[1, 0]) }",
    ("fusion h(n: i64) -> (T1, T2) { T1 = iota(length=n, start=0.5, step=0x1.8p+3_f32, dtype=f64) T2 = full(shape=[n, "
     "4], value=1_i32, dtype=i32) }"),
};
constexpr const char* kPieces[] = {"T0",
                                   "T1",
                                   "T9",
                                   "i0",
                                   "i2",
                                   "n",
                                   "(",
                                   ")",
                                   "[",
                                   "]",
                                   "{",
                                   "}",
                                   ",",
                                   "=",
                                   ":",
                                   "->",
                                   "0",
                                   "1",
                                   "-1",
                                   "4",
                                   "inf",
                                   "nan",
                                   "0.5_f32",
                                   "9223372036854775807",
                                   "true",
                                   "none",
                                   "f32",
                                   "bf16",
                                   "bool",
                                   "axes=[0]",
                                   "1 ex i2",
                                   "strided",
                                   "in pinned",
                                   "i{1}",
                                   "r{i0}",
                                   "\"x\"",
                                   "add(T0, 1)",
                                   "min(i0, 4)",
                                   "/ 0",
                                   "* i0",
                                   "allocation(1, 0)",
                                   "contiguity(true, none)",
                                   "aliases T0 hidden",
                                   "sizes { i0 = 1 }",
                                   "schedule { merge(T0, axis=0) }",
                                   "dtype=i64",
                                   "function.where(true, 1, 2)",
                                   "mesh(0)",
                                   "partial(sum, DIDx)",
                                   "symbol q: i64"};

std::vector<std::string>& validPrograms() {
  static std::vector<std::string> programs(std::begin(kPrograms), std::end(kPrograms));
  return programs;
}

void require(bool condition, const char* what, const std::string& text) {
  if (condition) return;
  std::fprintf(stderr, "%s:\n%s\n", what, text.c_str());
  std::abort();
}

void checkRoundTrip(const Fusion& fusion, const ParseOptions& options) {
  const std::string printed = printFusion(fusion);
  const auto again = parseFusion(printed, "printed", options);
  const std::string difference = firstDifference(fusion, *again);
  require(difference.empty(), ("the program read back differs: " + difference).c_str(), printed);
  require(printFusion(*again) == printed, "the canonical text is not stable", printed);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const LoopCommands commands;
  const ParseOptions options{.scheduler = &commands};
  const std::string text(reinterpret_cast<const char*>(data), size);
  std::unique_ptr<Fusion> fusion;
  try {
    fusion = parseFusion(text, "fuzz", options);
  } catch (const Error& error) {
    require(error.code() != ErrorCode::Internal, error.what(), text);
    return 0;
  }
  try {
    checkRoundTrip(*fusion, options);
  } catch (const Error& error) {
    require(false, error.what(), printFusion(*fusion));
  }
  constexpr size_t kKept = 200;
  if (validPrograms().size() < kKept) validPrograms().push_back(text);
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  std::minstd_rand random(seed);
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  if (below(4) == 0) return LLVMFuzzerMutate(data, size, max_size);
  const std::string& base = validPrograms()[below(validPrograms().size())];
  std::vector<std::string> words;
  for (const Token& token : tokensOf(base)) {
    words.emplace_back(token.text);
    if (!token.suffix.empty()) words.back() += "_" + std::string(token.suffix);
  }
  for (size_t changes = 1 + below(3); changes > 0 && !words.empty(); --changes) {
    const size_t at = below(words.size());
    switch (below(5)) {
      case 0: words[at] = kPieces[below(std::size(kPieces))]; break;
      case 1: words.insert(words.begin() + static_cast<int64_t>(at), kPieces[below(std::size(kPieces))]); break;
      case 2: words.erase(words.begin() + static_cast<int64_t>(at)); break;
      case 3: words[at] = words[below(words.size())]; break;
      default: std::swap(words[at], words[below(words.size())]); break;
    }
  }
  std::string text;
  for (const std::string& word : words) text += word + " ";
  const size_t length = std::min(text.size(), max_size);
  std::copy_n(text.begin(), length, data);
  return length;
}
