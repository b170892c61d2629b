#include "toolchain/processor_features.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <vector>

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include <fmt/format.h>

#include "base/require.h"
#include "base/text.h"

namespace tokamak {

namespace {

struct Feature {
  std::string_view macro;  ///< of the compiler
  std::string_view name;
  bool (*is_here)();
};

#if defined(__x86_64__)
enum class Register : uint8_t { Ecx, Edx };

bool hasBit(uint32_t leaf, Register where, uint32_t bit) {
  uint32_t a = 0;
  uint32_t b = 0;
  uint32_t c = 0;
  uint32_t d = 0;
  const bool is_there = __get_cpuid_count(leaf, 0, &a, &b, &c, &d) != 0;
  return is_there && ((where == Register::Ecx ? c : d) >> bit & 1u) != 0;
}

// What compilers take from C that does not name an instruction.
#define TOKAMAK_FEATURE(macro, name)                              \
  Feature {                                                       \
    macro, name, [] { return __builtin_cpu_supports(name) != 0; } \
  }
constexpr Feature kFeatures[] = {
    TOKAMAK_FEATURE("__SSE3__", "sse3"),
    TOKAMAK_FEATURE("__SSSE3__", "ssse3"),
    TOKAMAK_FEATURE("__SSE4_1__", "sse4.1"),
    TOKAMAK_FEATURE("__SSE4_2__", "sse4.2"),
    TOKAMAK_FEATURE("__POPCNT__", "popcnt"),
    TOKAMAK_FEATURE("__AES__", "aes"),
    TOKAMAK_FEATURE("__PCLMUL__", "pclmul"),
    TOKAMAK_FEATURE("__AVX__", "avx"),
    TOKAMAK_FEATURE("__AVX2__", "avx2"),
    TOKAMAK_FEATURE("__FMA__", "fma"),
    TOKAMAK_FEATURE("__FMA4__", "fma4"),
    TOKAMAK_FEATURE("__XOP__", "xop"),
    TOKAMAK_FEATURE("__SSE4A__", "sse4a"),
    TOKAMAK_FEATURE("__BMI__", "bmi"),
    TOKAMAK_FEATURE("__BMI2__", "bmi2"),
    TOKAMAK_FEATURE("__GFNI__", "gfni"),
    TOKAMAK_FEATURE("__VPCLMULQDQ__", "vpclmulqdq"),
    TOKAMAK_FEATURE("__AVX512F__", "avx512f"),
    TOKAMAK_FEATURE("__AVX512BW__", "avx512bw"),
    TOKAMAK_FEATURE("__AVX512CD__", "avx512cd"),
    TOKAMAK_FEATURE("__AVX512DQ__", "avx512dq"),
    TOKAMAK_FEATURE("__AVX512VL__", "avx512vl"),
    TOKAMAK_FEATURE("__AVX512IFMA__", "avx512ifma"),
    TOKAMAK_FEATURE("__AVX512VBMI__", "avx512vbmi"),
    TOKAMAK_FEATURE("__AVX512VBMI2__", "avx512vbmi2"),
    TOKAMAK_FEATURE("__AVX512VNNI__", "avx512vnni"),
    TOKAMAK_FEATURE("__AVX512BITALG__", "avx512bitalg"),
    TOKAMAK_FEATURE("__AVX512VPOPCNTDQ__", "avx512vpopcntdq"),
    TOKAMAK_FEATURE("__AVX512BF16__", "avx512bf16"),
    TOKAMAK_FEATURE("__AVX512VP2INTERSECT__", "avx512vp2intersect"),
    // The built-in function of older compilers does not know these by name (Intel SDM, CPUID).
    Feature{"__F16C__", "f16c", [] { return hasBit(1, Register::Ecx, 29) && __builtin_cpu_supports("avx") != 0; }},
    Feature{"__MOVBE__", "movbe", [] { return hasBit(1, Register::Ecx, 22); }},
    Feature{"__LZCNT__", "lzcnt", [] { return hasBit(0x80000001, Register::Ecx, 5); }},
    Feature{"__AVX512FP16__", "avx512fp16",
            [] { return hasBit(7, Register::Edx, 23) && __builtin_cpu_supports("avx512bw") != 0; }},
};
#undef TOKAMAK_FEATURE
#else
constexpr std::array<Feature, 0> kFeatures = {};
#endif

// Instructions that only code which names them uses, and macros that are no instructions.
constexpr std::string_view kUnused[] = {
    "__ABM__",        "__ADX__",    "__AMX_BF16__", "__AMX_INT8__", "__AMX_TILE__",    "__AVXVNNI__",   "__CLDEMOTE__",
    "__CLFLUSHOPT__", "__CLWB__",   "__CLZERO__",   "__CRC32__",    "__ENQCMD__",      "__FSGSBASE__",  "__FXSR__",
    "__HLE__",        "__HRESET__", "__INVPCID__",  "__KL__",       "__LAHF_SAHF__",   "__LWP__",       "__MOVDIR64B__",
    "__MOVDIRI__",    "__MWAITX__", "__PCONFIG__",  "__PKU__",      "__PREFETCHWT1__", "__PRFCHW__",    "__PTWRITE__",
    "__RDPID__",      "__RDPRU__",  "__RDRND__",    "__RDSEED__",   "__RTM__",         "__SERIALIZE__", "__SGX__",
    "__SHA__",        "__SHSTK__",  "__TBM__",      "__TSXLDTRK__", "__UINTR__",       "__VAES__",      "__WAITPKG__",
    "__WBNOINVD__",   "__WIDEKL__", "__XSAVEC__",   "__XSAVEOPT__", "__XSAVES__",      "__XSAVE__",
};

bool namesInstructions(std::string_view macro) {
  constexpr std::string_view kOthers[] = {"__FLT_",    "__FP_FAST_", "__GCC_", "__BIGGEST_", "__tune_",
                                          "__SIZEOF_", "__OPTIMIZE", "__NO_",  "__PIC__",    "__pic__",
                                          "__PIE__",   "__pie__",    "__evex", "__clang_"};
  const bool is_upper = macro.starts_with("__") && macro.size() > 2 && macro[2] >= 'A' && macro[2] <= 'Z';
  const bool is_other =
      std::ranges::any_of(kOthers, [&](std::string_view prefix) { return macro.starts_with(prefix); });
  return is_upper && !is_other && std::ranges::find(kUnused, macro) == std::end(kUnused);
}

std::vector<std::string_view> wordsOf(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    if (end > 0) words.push_back(text.substr(0, end));
    text.remove_prefix(std::min(text.size(), end + 1));
  }
  return words;
}

}  // namespace

std::string featuresNeeded(const CTarget& target) {
  std::vector<std::string_view> names;
  for (const std::string_view macro : wordsOf(target.features)) {
    if (macro.find('=') != std::string_view::npos) continue;  // instruction sets are 1
    const auto known = std::ranges::find(kFeatures, macro, &Feature::macro);
    if (known != std::end(kFeatures)) {
      names.push_back(known->name);
      continue;
    }
    TK_REQUIRE(!namesInstructions(macro), Unsupported,
               "the C compiler says {} of the processor, which is not known here: what code for it needs cannot be "
               "told; name a level such as x86-64-v3",
               macro);
  }
  return joined(names, " ");
}

std::string featuresLacking(std::string_view features) {
  std::vector<std::string_view> lacking;
  for (const std::string_view name : wordsOf(features)) {
    const auto known = std::ranges::find(kFeatures, name, &Feature::name);
    if (known == std::end(kFeatures) || !known->is_here()) lacking.push_back(name);
  }
  return joined(lacking);
}

}  // namespace tokamak
