#include "ir/tensor_view.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/require.h"
#include "symbolic/scalar.h"

namespace tokamak {

namespace {
constexpr std::string_view kMemoryLetters = "lsgt";
}

char memoryTypeLetter(MemoryType type) { return kMemoryLetters[static_cast<size_t>(type)]; }

std::optional<MemoryType> memoryTypeFromLetter(char letter) {
  const size_t found = kMemoryLetters.find(letter);
  return found == std::string_view::npos ? std::nullopt : std::optional(static_cast<MemoryType>(found));
}

bool DeviceMesh::isFilled() const {
  // Divided, not multiplied: the product may overflow.
  auto rest = static_cast<int64_t>(devices.size());
  for (const int64_t size : shape) rest = size > 0 && rest % size == 0 ? rest / size : 0;
  return rest == 1 && !shape.empty();
}

void TensorView::setPartials(std::vector<Partial> partials) {
  std::ranges::stable_sort(partials, {}, &Partial::type);
  partials_ = std::move(partials);
}

std::string toString(const Partial& partial) {
  return fmt::format("partial({}, {})", enumName(partial.kind), parallelTypeName(partial.type));
}

std::string partialProblem(const TensorView& tv) {
  for (size_t i = 0; i < tv.partials().size(); ++i) {
    const Partial& partial = tv.partials()[i];
    const bool is_device = partial.type >= ParallelType::DIDx && partial.type <= ParallelType::DIDz;
    const size_t from_last = static_cast<size_t>(partial.type) - static_cast<size_t>(ParallelType::DIDx);
    if (!is_device || from_last >= tv.mesh().shape.size())
      return fmt::format("it is {}, and its mesh has {} dimension(s); DIDx is the last one, DIDy the one before",
                         toString(partial), tv.mesh().shape.size());
    if (i > 0 && tv.partials()[i - 1].type == partial.type)
      return fmt::format("it is {} and {}: one dimension has one kind of terms", toString(tv.partials()[i - 1]),
                         toString(partial));
    if (partial.kind != tv.partials()[0].kind)
      return fmt::format("it is {} and {}: terms are combined in one way", toString(tv.partials()[0]),
                         toString(partial));
    const auto marked = std::ranges::find(tv.loop(), partial.type, &IterDomain::parallelType);
    if (marked != tv.loop().end())
      return fmt::format("it is {}, and {} has the parts of that dimension", toString(partial),
                         describeAxis(tv, **marked));
  }
  return "";
}

IterDomain* TensorView::axis(int64_t i) const {
  const int64_t position = i < 0 ? i + axisCount() : i;
  TK_REQUIRE(position >= 0 && position < axisCount(), Schedule, "axis {} is out of bounds for tensor {} with {} axes",
             i, toString(*this), axisCount());
  return domain_.loop[static_cast<size_t>(position)];
}

Axes withoutReductions(const Axes& axes) {
  Axes kept;
  std::ranges::copy_if(axes, std::back_inserter(kept), [](const IterDomain* axis) { return !axis->isReduction(); });
  return kept;
}

std::string nameOf(const TensorView& tv) {
  if (!tv.name().empty()) return tv.name();
  return tv.label() >= 0 ? fmt::format("T{}", tv.label()) : fmt::format("T?{}", tv.id());
}

std::string toString(const TensorView& tv) {
  std::string text = fmt::format("{}: {}[", nameOf(tv), dataTypeName(tv.dtype()));
  const char* separator = "";
  for (const IterDomain* axis : shapeOf(tv)) {
    text += separator;
    text += toString(*axis->visibleExtent());
    separator = ", ";
  }
  return text + "]";
}

std::string describeLoop(const IterDomain& axis) {
  return fmt::format("{}{}{{{}}}", iterKindLetter(axis.kind()), parallelTypeName(axis.parallelType()),
                     toString(*axis.extent()));
}

std::string describeAxis(const TensorView& tv, const IterDomain& axis) {
  const Axes& loop = tv.loop();
  const auto found = std::ranges::find(loop, &axis);
  const std::string mark = describeLoop(axis);
  if (found == loop.end()) return fmt::format("an axis ({}) of {}", mark, nameOf(tv));
  return fmt::format("axis {} ({}) of {}", found - loop.begin(), mark, nameOf(tv));
}

}  // namespace tokamak
