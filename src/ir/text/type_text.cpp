#include "ir/text/type_text.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/text.h"
#include "ir/expr.h"
#include "ir/fusion.h"
#include "ir/text/foreign_names.h"
#include "ir/text/mesh_text.h"

namespace tokamak {

namespace {

constexpr std::array<std::string_view, 4> kMemoryTypeWords = {"local", "shared", "global", "tensor"};
constexpr std::string_view kAllocationMark = "allocation";
constexpr std::string_view kOrderMark = "stride_order";
constexpr std::string_view kHintMark = "stride_order_hint";
constexpr std::string_view kContiguityMark = "contiguity";

using Contiguity = std::vector<std::optional<bool>>;

bool isStored(const IterDomain& axis) { return !axis.isReduction() && !axis.isBroadcast(); }

std::vector<std::string_view> dataTypeNames() {
  std::vector<std::string_view> names;
  for (const DataType type : kAllDataTypes) names.push_back(dataTypeName(type));
  return names;
}

// --- reading ---

class TypeParser {
 public:
  TypeParser(TokenStream& tokens, ScalarParser& scalars) : tokens_(tokens), scalars_(scalars) {}

  WrittenType parse() {
    type_.offset = tokens_.peek().offset;
    const Token& dtype = tokens_.expectIdentifier("a type: f64, f32, f16, bf16, i64, i32 or bool");
    const auto found = dataTypeFromName(dtype.text);
    if (!found) {
      tokens_.fail(dtype, fmt::format("unknown type {}; expected f64, f32, f16, bf16, i64, i32 or bool{}",
                                      describeToken(dtype), suggestionForType(dtype.text, dataTypeNames())));
    }
    type_.dtype = *found;
    tokens_.expect("[");
    if (!tokens_.at("]")) {
      do type_.axes.push_back(axis());
      while (tokens_.accept(","));
    }
    if (!tokens_.at("]")) tokens_.failExpected("',' or ']'");
    tokens_.next();
    while (mark()) continue;
    return std::move(type_);
  }

 private:
  std::optional<IterKind> kindMark() {
    const Token& token = tokens_.peek();
    const bool is_letter = (token.kind == TokenKind::Identifier || token.is("?")) && token.text.size() == 1;
    if (!is_letter || !tokens_.peek(1).is("{")) return std::nullopt;
    const auto kind = iterKindFromLetter(token.text[0]);
    if (!kind) tokens_.failExpected("a kind of axis: i, r, b, s, n, v or ?");
    tokens_.next();
    return kind;
  }

  WrittenAxis axis() {
    WrittenAxis axis;
    axis.offset = tokens_.peek().offset;
    axis.kind = kindMark();
    if (axis.kind) {
      tokens_.expect("{");
      axis.extent = extent();
      tokens_.expect("}");
      axis.is_rfactor = tokens_.accept("rf");
    } else {
      axis.extent = extent();
    }
    const bool may_expand = axis.kind ? *axis.kind == IterKind::Broadcast : axis.extent->isConstantInt(1);
    if (tokens_.at("ex")) {
      if (!may_expand)
        tokens_.fail(tokens_.peek(), "only a broadcast axis can be expanded; expected '1 ex' before the shown size");
      tokens_.next();
      axis.expanded_extent = extent();
    }
    axis.is_strided = tokens_.accept("strided");
    return axis;
  }

  Scalar* extent() {
    const Token& start = tokens_.peek();
    Scalar* extent = scalars_.parse();
    const auto constant = extent->constantInt();
    if (!isIntegerType(extent->dtype()) || (constant && *constant < 0)) {
      tokens_.fail(start, fmt::format("{} is no extent; expected an integer that is not negative", toString(*extent)));
    }
    return extent;
  }

  // A mark's word that may stand once.
  template <class T>
  void requireFirst(const Token& token, const std::optional<T>& value) {
    if (value) tokens_.fail(token, fmt::format("{} is given twice; expected it once", describeToken(token)));
  }

  bool mark() {
    const Token& token = tokens_.peek();
    if (tokens_.accept("strided")) {
      type_.is_strided = true;
    } else if (tokens_.accept("in")) {
      requireFirst(token, type_.memory_kind);
      type_.memory_kind = memoryKindFromName(tokens_.peek().text);
      if (!type_.memory_kind) tokens_.failExpected("a kind of memory: device, pinned or host");
      tokens_.next();
    } else if (tokens_.accept("as")) {
      requireFirst(token, type_.memory_type);
      const auto* word = std::ranges::find(kMemoryTypeWords, tokens_.peek().text);
      if (word == kMemoryTypeWords.end()) tokens_.failExpected("a type of memory: local, shared, global or tensor");
      type_.memory_type = static_cast<MemoryType>(word - kMemoryTypeWords.begin());
      tokens_.next();
    } else if (tokens_.accept(kMeshWord)) {
      requireFirst(token, type_.mesh);
      type_.mesh = parseMesh(tokens_);
    } else if (tokens_.accept("partial")) {
      type_.partials.push_back(partial());
    } else if (tokens_.accept(kContiguityMark)) {
      requireFirst(token, type_.contiguity);
      type_.contiguity = contiguity();
    } else {
      return orderMark(token, kOrderMark, type_.stride_order) || orderMark(token, kHintMark, type_.stride_order_hint) ||
             orderMark(token, kAllocationMark, type_.allocation);
    }
    return true;
  }

  bool orderMark(const Token& token, std::string_view word, std::optional<std::vector<int64_t>>& order) {
    if (!tokens_.accept(word)) return false;
    requireFirst(token, order);
    order = integers("(", ")");
    return true;
  }

  std::vector<int64_t> integers(std::string_view open, std::string_view close) {
    std::vector<int64_t> list;
    tokens_.expect(open);
    if (!tokens_.at(close)) {
      do list.push_back(tokens_.expectInteger("an integer"));
      while (tokens_.accept(","));
    }
    if (!tokens_.at(close)) tokens_.failExpected(fmt::format("',' or '{}'", close));
    tokens_.next();
    return list;
  }

  Contiguity contiguity() {
    Contiguity list;
    tokens_.expect("(");
    while (!tokens_.at(")")) {
      if (!list.empty()) tokens_.expect(",");
      if (tokens_.accept("none"))
        list.emplace_back();
      else if (tokens_.at("true") || tokens_.at("false"))
        list.emplace_back(tokens_.next().is("true"));
      else
        tokens_.failExpected("true, false or none");
    }
    tokens_.next();
    return list;
  }

  // "(sum, DIDx)".
  Partial partial() {
    tokens_.expect("(");
    const auto kind = enumFromName<ReductionKind>(tokens_.peek().text);
    if (!kind) tokens_.failExpected("how the terms are combined: sum, prod, max or min");
    tokens_.next();
    tokens_.expect(",");
    const auto type = parallelTypeFromName(tokens_.peek().text);
    if (!type || *type < ParallelType::DIDx || *type > ParallelType::DIDz)
      tokens_.failExpected("a device axis: DIDx, DIDy or DIDz");
    tokens_.next();
    tokens_.expect(")");
    return {.kind = *kind, .type = *type};
  }

  TokenStream& tokens_;
  ScalarParser& scalars_;
  WrittenType type_;
};

// --- giving a type to a tensor ---

IterKind kindOfAxis(const WrittenAxis& axis) {
  return axis.kind.value_or(axis.extent->isConstantInt(1) ? IterKind::Broadcast : IterKind::Iteration);
}

IterDomain* makeAxis(Fusion& fusion, const WrittenAxis& axis) {
  return fusion.axis({.kind = kindOfAxis(axis),
                      .extent = axis.extent,
                      .expanded_extent = axis.expanded_extent,
                      .is_rfactor = axis.is_rfactor});
}

void requirePermutation(const TokenStream& tokens, const WrittenType& type, std::string_view mark,
                        const std::vector<int64_t>& order, size_t count) {
  std::vector<int64_t> sorted = order;
  std::ranges::sort(sorted);
  bool is_permutation = sorted.size() == count;
  for (size_t i = 0; i < sorted.size(); ++i) is_permutation = is_permutation && sorted[i] == static_cast<int64_t>(i);
  if (is_permutation) return;
  tokens.fail(type.offset, fmt::format("{}({}) is no order of {} axes; expected each number from 0 to {} once", mark,
                                       joined(order), count, static_cast<int64_t>(count) - 1));
}

// Everything but the element type and the logical axes.
void applyMarks(const TokenStream& tokens, TensorView& tensor, const WrittenType& type) {
  TensorDomain& domain = tensor.mutableDomain();
  const size_t rank = shapeOf(tensor).size();
  if (type.stride_order) requirePermutation(tokens, type, kOrderMark, *type.stride_order, rank);
  if (type.stride_order_hint) requirePermutation(tokens, type, kHintMark, *type.stride_order_hint, rank);
  if (type.stride_order) domain.stride_order = type.stride_order;
  if (type.stride_order_hint) domain.stride_order_hint = type.stride_order_hint;
  if (type.allocation) {
    requirePermutation(tokens, type, kAllocationMark, *type.allocation, domain.logical.size());
    Axes layout;
    Contiguity contiguity;
    for (const int64_t axis : *type.allocation) {
      layout.push_back(domain.logical[static_cast<size_t>(axis)]);
      contiguity.push_back(isStored(*layout.back()) ? std::optional(true) : std::nullopt);
    }
    domain.allocation = std::move(layout);
    domain.contiguity = std::move(contiguity);
  }
  const Axes& layout = domain.allocation.empty() ? domain.logical : domain.allocation;
  if (type.contiguity) {
    if (type.contiguity->size() != layout.size()) {
      tokens.fail(type.offset, fmt::format("contiguity has {} values for {} axes; expected one for each",
                                           type.contiguity->size(), layout.size()));
    }
    domain.contiguity = *type.contiguity;
  }
  for (size_t i = 0; i < layout.size(); ++i) {
    if (type.is_strided && isStored(*layout[i])) domain.contiguity[i] = false;
  }
  if (type.memory_kind) tensor.setMemoryKind(*type.memory_kind);
  if (type.memory_type) tensor.setMemoryType(*type.memory_type);
  if (type.mesh) tensor.setMesh(*type.mesh);
  if (!type.partials.empty()) tensor.setPartials(type.partials);
}

void markStrided(const TokenStream& tokens, TensorView& tensor, const IterDomain& axis, const WrittenAxis& written) {
  if (!written.is_strided) return;
  if (!isStored(axis)) {
    tokens.fail(written.offset,
                "a broadcast or reduction axis has no stride; expected 'strided' after an axis with elements only");
  }
  TensorDomain& domain = tensor.mutableDomain();
  const Axes& layout = domain.allocation.empty() ? domain.logical : domain.allocation;
  const auto found = std::ranges::find(layout, &axis);
  if (found != layout.end()) domain.contiguity[static_cast<size_t>(found - layout.begin())] = false;
}

bool isSameAxis(const IterDomain& axis, const WrittenAxis& written) {
  return axis.kind() == kindOfAxis(written) && axis.extent() == written.extent &&
         axis.expandedExtent() == written.expanded_extent && (!written.kind || axis.isRFactor() == written.is_rfactor);
}

// Where operands have different symbols for one size, the op takes one of them and the text may say another.
bool isExtentOfOperand(const TensorView& tensor, size_t position, const Scalar* extent) {
  if (tensor.definition() == nullptr || extent->constantInt()) return false;
  return std::ranges::any_of(tensorsOf(tensor.definition()->inputs()), [&](const TensorView* operand) {
    const Axes axes = shapeOf(*operand);
    return axes.size() == shapeOf(tensor).size() && position < axes.size() && axes[position]->visibleExtent() == extent;
  });
}

void replaceAxis(TensorView& tensor, IterDomain* from, IterDomain* to) {
  TensorDomain& domain = tensor.mutableDomain();
  for (Axes* axes : {&domain.logical, &domain.loop, &domain.allocation}) std::ranges::replace(*axes, from, to);
}

void applyAxis(const TokenStream& tokens, TensorView& tensor, size_t position, IterDomain* axis,
               const WrittenAxis& written) {
  if (isSameAxis(*axis, written)) return markStrided(tokens, tensor, *axis, written);
  const bool may_replace = axis->definition() == nullptr && axis->use() == nullptr &&
                           axis->kind() == kindOfAxis(written) && !axis->extent()->constantInt() &&
                           axis->expandedExtent() == written.expanded_extent &&
                           isExtentOfOperand(tensor, position, written.extent);
  if (!may_replace) {
    tokens.fail(written.offset,
                fmt::format("this axis does not fit what is computed; expected the axes of {}", toString(tensor)));
  }
  IterDomain* made = makeAxis(tensor.fusion(), written);
  replaceAxis(tensor, axis, made);
  markStrided(tokens, tensor, *made, written);
}

// --- printing ---

std::string axisText(const IterDomain& axis, IterKind kind, const SymbolNamer& name) {
  const bool is_one = axis.extent()->isConstantInt(1);
  const bool is_plain = !axis.isRFactor() && kind == (is_one ? IterKind::Broadcast : IterKind::Iteration);
  std::string text = scalarText(*axis.extent(), name);
  if (!is_plain) text = fmt::format("{}{{{}}}{}", iterKindLetter(kind), text, axis.isRFactor() ? "rf" : "");
  if (axis.expandedExtent() != nullptr) text += fmt::format(" ex {}", scalarText(*axis.expandedExtent(), name));
  return text;
}

std::string orderText(std::string_view mark, const std::optional<std::vector<int64_t>>& order) {
  return order ? fmt::format(" {}({})", mark, joined(*order)) : "";
}

std::string contiguityText(const Contiguity& contiguity) {
  std::vector<std::string_view> words;
  for (const auto& value : contiguity) words.push_back(!value ? "none" : *value ? "true" : "false");
  return fmt::format(" {}({})", kContiguityMark, joined(words));
}

// How the contiguity is written: not at all, after some axes, after all, or as a list.
enum class ContiguityForm : uint8_t { Dense, PerAxis, Strided, List };

ContiguityForm contiguityForm(const TensorDomain& domain) {
  const Axes& layout = domain.allocation.empty() ? domain.logical : domain.allocation;
  bool has_dense = false;
  bool has_strided = false;
  // With a command of its own the allocation says that it is dense.
  if (!domain.allocation.empty() && !isAllocationOfLogical(domain)) return ContiguityForm::Dense;
  if (layout.size() != domain.contiguity.size()) return ContiguityForm::List;
  for (size_t i = 0; i < layout.size(); ++i) {
    if (isStored(*layout[i]) != domain.contiguity[i].has_value()) return ContiguityForm::List;
    if (domain.contiguity[i]) (*domain.contiguity[i] ? has_dense : has_strided) = true;
  }
  if (!has_strided) return ContiguityForm::Dense;
  if (!has_dense) return ContiguityForm::Strided;
  return domain.allocation.empty() ? ContiguityForm::PerAxis : ContiguityForm::List;
}

std::string allocationText(const TensorDomain& domain) {
  if (!isAllocationOfLogical(domain)) return "";
  std::vector<int64_t> order;
  for (const IterDomain* axis : domain.allocation) {
    order.push_back(std::ranges::find(domain.logical, axis) - domain.logical.begin());
  }
  return orderText(kAllocationMark, order);
}

}  // namespace

WrittenType parseTensorType(TokenStream& tokens, ScalarParser& scalars) { return TypeParser(tokens, scalars).parse(); }

TensorView* makeTensor(Fusion& fusion, const TokenStream& tokens, const WrittenType& type) {
  Axes logical;
  for (const WrittenAxis& axis : type.axes) logical.push_back(makeAxis(fusion, axis));
  TensorView* tensor = fusion.tensor(type.dtype, logical);
  applyMarks(tokens, *tensor, type);
  for (size_t i = 0; i < logical.size(); ++i) markStrided(tokens, *tensor, *logical[i], type.axes[i]);
  return tensor;
}

void applyType(const TokenStream& tokens, TensorView& tensor, const WrittenType& type) {
  if (type.dtype != tensor.dtype()) {
    tokens.fail(type.offset, fmt::format("the type {} is not what is computed; expected {}", dataTypeName(type.dtype),
                                         toString(tensor)));
  }
  const Axes axes = type.axes.size() == tensor.logical().size() ? tensor.logical() : shapeOf(tensor);
  if (type.axes.size() != axes.size()) {
    tokens.fail(type.offset, fmt::format("{} axes are written; expected the {} of {}", type.axes.size(), axes.size(),
                                         toString(tensor)));
  }
  applyMarks(tokens, tensor, type);
  for (size_t i = 0; i < axes.size(); ++i) applyAxis(tokens, tensor, i, axes[i], type.axes[i]);
}

namespace {

// What stands behind the axes and the layout.
std::string marksText(const TensorView& tensor) {
  const TensorDomain& domain = tensor.domain();
  std::string text = orderText(kOrderMark, domain.stride_order);
  text += orderText(kHintMark, domain.stride_order_hint);
  if (tensor.memoryKind() != MemoryKind::Device) text += fmt::format(" in {}", memoryKindName(tensor.memoryKind()));
  if (tensor.memoryType() != MemoryType::Local)
    text += fmt::format(" as {}", kMemoryTypeWords[static_cast<size_t>(tensor.memoryType())]);
  if (!tensor.mesh().empty()) text += ' ' + printMesh(tensor.mesh());
  for (const Partial& partial : tensor.partials()) text += " " + toString(partial);
  return text;
}

}  // namespace

bool isAllocationOfLogical(const TensorDomain& domain) {
  return !domain.allocation.empty() && std::ranges::all_of(domain.allocation, [&](const IterDomain* axis) {
    return std::ranges::find(domain.logical, axis) != domain.logical.end();
  });
}

std::string tensorTypeText(const TensorView& tensor, const SymbolNamer& name) {
  const TensorDomain& domain = tensor.domain();
  const ContiguityForm form = contiguityForm(domain);
  std::string text = fmt::format("{}[", dataTypeName(tensor.dtype()));
  for (size_t i = 0; i < domain.logical.size(); ++i) {
    if (i > 0) text += ", ";
    text += axisText(*domain.logical[i], domain.logical[i]->kind(), name);
    if (form == ContiguityForm::PerAxis && domain.contiguity[i] == false) text += " strided";
  }
  text += ']';
  text += allocationText(domain);
  if (form == ContiguityForm::Strided) text += " strided";
  if (form == ContiguityForm::List) text += contiguityText(domain.contiguity);
  return text + marksText(tensor);
}

std::string reducedTypeText(const TensorView& tensor, const Axes& axes, std::span<const int64_t> reduced,
                            const SymbolNamer& name) {
  std::vector<std::string> texts;
  for (size_t i = 0; i < axes.size(); ++i) {
    const bool is_reduced = std::ranges::find(reduced, static_cast<int64_t>(i)) != reduced.end();
    texts.push_back(axisText(*axes[i], is_reduced ? IterKind::Reduction : axes[i]->kind(), name));
  }
  return fmt::format("{}[{}]{}", dataTypeName(tensor.dtype()), joined(texts), marksText(tensor));
}

}  // namespace tokamak
