#include "ir/iter_domain.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace tokamak {

namespace {

constexpr std::string_view kIterLetters = "irbsnv?";
constexpr std::array<std::string_view, 2> kSwizzleTypes = {"xor", "cyclic_shift"};

struct ParallelRow {
  std::string_view name;
  std::string_view dump;
};

constexpr std::array<ParallelRow, 18> kParallelTypes = {{
    {"Serial", "S"},
    {"Stream", "StreamIdx"},
    {"DIDx", "deviceIdx.x"},
    {"DIDy", "deviceIdx.y"},
    {"DIDz", "deviceIdx.z"},
    {"CIDx", "clusterBlockIdx.x"},
    {"BIDx", "blockIdx.x"},
    {"BIDy", "blockIdx.y"},
    {"BIDz", "blockIdx.z"},
    {"TIDx", "threadIdx.x"},
    {"TIDy", "threadIdx.y"},
    {"TIDz", "threadIdx.z"},
    {"Vectorize", "V"},
    {"Unroll", "UR"},
    {"Unswitch", "US"},
    {"Mma", "MMA"},
    {"Group", "G"},
    {"Bulk", "B"},
}};

std::optional<ParallelType> findParallelType(std::string_view text, std::string_view ParallelRow::* column) {
  const auto* found = std::ranges::find(kParallelTypes, text, column);
  if (found == kParallelTypes.end()) return std::nullopt;
  return static_cast<ParallelType>(found - kParallelTypes.begin());
}

}  // namespace

char iterKindLetter(IterKind kind) { return kIterLetters[static_cast<size_t>(kind)]; }

std::optional<IterKind> iterKindFromLetter(char letter) {
  const size_t found = kIterLetters.find(letter);
  return found == std::string_view::npos ? std::nullopt : std::optional(static_cast<IterKind>(found));
}

std::string_view swizzleTypeName(SwizzleType type) { return kSwizzleTypes[static_cast<size_t>(type)]; }
std::optional<SwizzleType> swizzleTypeFromName(std::string_view name) {
  const auto* found = std::ranges::find(kSwizzleTypes, name);
  return found == kSwizzleTypes.end() ? std::nullopt
                                      : std::optional(static_cast<SwizzleType>(found - kSwizzleTypes.begin()));
}

bool isSameForm(const DomainExpr& a, const DomainExpr& b) {
  return a.kind == b.kind && a.factor == b.factor && a.is_inner_factor == b.is_inner_factor && a.swizzle == b.swizzle;
}

std::string_view parallelTypeName(ParallelType type) { return kParallelTypes[static_cast<size_t>(type)].name; }
std::string_view parallelTypeDumpName(ParallelType type) { return kParallelTypes[static_cast<size_t>(type)].dump; }
std::optional<ParallelType> parallelTypeFromName(std::string_view name) {
  return findParallelType(name, &ParallelRow::name);
}
std::optional<ParallelType> parallelTypeFromDumpName(std::string_view name) {
  return findParallelType(name, &ParallelRow::dump);
}

}  // namespace tokamak
