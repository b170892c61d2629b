#include "ir/equal.h"

#include <functional>
#include <unordered_map>

#include <fmt/format.h>

#include "ir/fields.h"
#include "ir/fusion.h"
#include "ir/ops/host/post_on_stream.h"
#include "ir/text/fusion_printer.h"
#include "ir/text/names.h"
#include "ir/text/type_text.h"
#include "symbolic/functions.h"

namespace tokamak {

class ProgramComparison::Pairing {
 public:
  Pairing(const Fusion& a, const Fusion& b) : a_(a), b_(b), names_a_(a), names_b_(b) {}

  std::string interfaces() {
    if (a_.name() != b_.name()) return fmt::format("names: {} and {}", inQuotes(a_.name()), inQuotes(b_.name()));
    if (a_.inputs().size() != b_.inputs().size()) return counts("inputs", a_.inputs().size(), b_.inputs().size());
    for (size_t i = 0; i < a_.inputs().size(); ++i) {
      if (std::string why = vals(a_.inputs()[i], b_.inputs()[i]); !why.empty())
        return fmt::format("input {}: {}", i, why);
    }
    if (a_.outputs().size() != b_.outputs().size()) return counts("outputs", a_.outputs().size(), b_.outputs().size());
    for (size_t i = 0; i < a_.outputs().size(); ++i) {
      if (std::string why = vals(a_.outputs()[i], b_.outputs()[i]); !why.empty())
        return fmt::format("output {}: {}", i, why);
    }
    std::string why = aliases();
    return why.empty() ? sizes() : why;
  }

  std::string vals(const Val* a, const Val* b) {
    if (a == nullptr || b == nullptr) return a == b ? "" : "one is missing";
    if (const auto found = pairs_.find(a); found != pairs_.end()) {
      return found->second == b ? "" : fmt::format("{} and {}", text(*a, names_a_), text(*b, names_b_));
    }
    if (a->kind() != b->kind() || a->dtype() != b->dtype() || !pair(a, b)) {
      return fmt::format("{} and {}", text(*a, names_a_), text(*b, names_b_));
    }
    switch (a->kind()) {
      case ValKind::Tensor: return tensors(static_cast<const TensorView&>(*a), static_cast<const TensorView&>(*b));
      case ValKind::Scalar: return scalars(static_cast<const Scalar&>(*a), static_cast<const Scalar&>(*b));
      case ValKind::Stream:
        return vals(static_cast<const StreamVal&>(*a).index(), static_cast<const StreamVal&>(*b).index());
    }
    return "";
  }

  std::string exprs(const Expr& a, const Expr& b) {
    if (a.kind() != b.kind()) return fmt::format("{} and {}", callName(a), callName(b));
    const Fields fields_a = fieldsOf(a);
    const Fields fields_b = fieldsOf(b);
    for (size_t i = 0; i < fields_a.size(); ++i) {
      std::string why = values(fields_a[i].value, fields_b[i].value);
      if (!why.empty()) return fmt::format("{}: {}: {}", callName(a), fields_a[i].name, why);
    }
    return "";
  }

  std::string blocks(const Block& a, const Block& b) {
    if (a.exprs.size() != b.exprs.size()) return counts("statements", a.exprs.size(), b.exprs.size());
    for (size_t i = 0; i < a.exprs.size(); ++i) {
      if (std::string why = exprs(*a.exprs[i], *b.exprs[i]); !why.empty())
        return fmt::format("statement {}: {}", i, why);
    }
    return "";
  }

 private:
  static std::string counts(std::string_view what, size_t a, size_t b) {
    return fmt::format("{} and {} {}", a, b, what);
  }

  bool pair(const void* a, const void* b) {
    if (!taken_.emplace(b, a).second) return false;
    return pairs_.emplace(a, b).second;
  }

  static std::string text(const Val& val, const FusionNames& names) {
    const auto namer = [&](const Scalar& symbol) { return names.nameOf(symbol); };
    if (val.kind() == ValKind::Tensor) {
      const auto& tensor = static_cast<const TensorView&>(val);
      return fmt::format("{}: {}", names.nameOf(tensor), tensorTypeText(tensor, namer));
    }
    if (val.kind() == ValKind::Scalar) return scalarText(static_cast<const Scalar&>(val), namer);
    return "a stream";
  }

  std::string aliases() {
    const auto& aliases_a = a_.outputAliases();
    const auto& aliases_b = b_.outputAliases();
    if (aliases_a.size() != aliases_b.size()) return counts("aliased outputs", aliases_a.size(), aliases_b.size());
    for (const auto& [output, alias] : aliases_a) {
      const auto found = pairs_.find(output);
      if (found == pairs_.end()) return "an alias of something that is no output";
      const auto other = aliases_b.find(static_cast<TensorView*>(const_cast<void*>(found->second)));
      if (other == aliases_b.end()) return fmt::format("only one {} is an alias", names_a_.nameOf(*output));
      if (alias.is_hidden != other->second.is_hidden)
        return fmt::format("only one alias {} is hidden", names_a_.nameOf(*output));
      if (std::string why = vals(alias.target, other->second.target); !why.empty())
        return fmt::format("alias {}: {}", names_a_.nameOf(*output), why);
    }
    return "";
  }

  std::string sizes() {
    const auto& sizes_a = a_.defaultSizes();
    const auto& sizes_b = b_.defaultSizes();
    if (sizes_a.size() != sizes_b.size()) return counts("default sizes", sizes_a.size(), sizes_b.size());
    std::unordered_map<std::string, int64_t> by_name;
    for (const auto& [symbol, size] : sizes_b) by_name[names_b_.nameOf(*symbol)] = size;
    for (const auto& [symbol, size] : sizes_a) {
      const auto found = by_name.find(names_a_.nameOf(*symbol));
      if (found == by_name.end() || found->second != size)
        return fmt::format("the default size of {}", names_a_.nameOf(*symbol));
    }
    return "";
  }

  std::string scalars(const Scalar& a, const Scalar& b) {
    const auto differ = [&] { return fmt::format("{} and {}", text(a, names_a_), text(b, names_b_)); };
    if (a.op() != b.op() || a.operands().size() != b.operands().size()) return differ();
    if (a.isConstant()) return isSameValue(a.value(), b.value()) ? "" : differ();
    if (a.isSymbol()) return names_a_.nameOf(a) == names_b_.nameOf(b) ? "" : differ();
    if (a.op() == ScalarOp::Function && a.function() != b.function()) return differ();
    for (size_t i = 0; i < a.operands().size(); ++i) {
      if (!vals(a.operand(i), b.operand(i)).empty()) return differ();
    }
    return "";
  }

  std::string tensors(const TensorView& a, const TensorView& b) {
    const TensorDomain& x = a.domain();
    const TensorDomain& y = b.domain();
    const auto named = [&](std::string_view what) {
      return fmt::format("{} of {} and {}", what, text(a, names_a_), text(b, names_b_));
    };
    if (names_a_.nameOf(a) != names_b_.nameOf(b)) return named("the names");
    if (a.memoryType() != b.memoryType() || a.memoryKind() != b.memoryKind()) return named("the memory");
    if (a.circularBuffer() != b.circularBuffer()) return named("the circular buffers");
    if (a.bufferPadding() != b.bufferPadding()) return named("the paddings of buffers");
    if (!(a.mesh() == b.mesh())) return named("the meshes");
    if (a.partials() != b.partials()) return named("the partials");
    if (x.contiguity != y.contiguity) return named("the contiguity");
    if (x.stride_order != y.stride_order || x.stride_order_hint != y.stride_order_hint)
      return named("the stride orders");
    // Transforms are compared on the way from their results to their operands, so shapes go first.
    if (!isSameAxes(x.root, y.root)) return named("the root axes");
    if (!isSameAxes(x.logical, y.logical)) return named("the axes");
    if (!isSameAxes(x.allocation, y.allocation)) return named("the allocation");
    if (!isSameAxes(x.loop, y.loop)) return named("the loop domains");
    if (x.inline_position != y.inline_position) return named("the inline positions");
    return "";
  }

  bool isSameAxes(const Axes& a, const Axes& b) {
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i) {
      if (!isSameAxis(a[i], b[i])) return false;
    }
    return true;
  }

  bool isSameAxis(const IterDomain* a, const IterDomain* b) {
    if (a == nullptr || b == nullptr) return a == b;
    if (const auto found = pairs_.find(a); found != pairs_.end()) return found->second == b;
    return pair(a, b) && a->kind() == b->kind() && a->parallelType() == b->parallelType() &&
           a->isRFactor() == b->isRFactor() && vals(a->extent(), b->extent()).empty() &&
           vals(a->expandedExtent(), b->expandedExtent()).empty() && isSameStep(a->definition(), b->definition());
  }

  bool isSameStep(const DomainExpr* a, const DomainExpr* b) {
    if (a == nullptr || b == nullptr) return a == b;
    if (const auto found = pairs_.find(a); found != pairs_.end()) return found->second == b;
    if (!pair(a, b) || a->kind != b->kind || a->is_inner_factor != b->is_inner_factor || a->swizzle != b->swizzle)
      return false;
    for (size_t i = 0; i < 2; ++i) {
      if (!isSameAxis(a->in[i], b->in[i]) || !isSameAxis(a->out[i], b->out[i])) return false;
    }
    return vals(a->factor, b->factor).empty();
  }

  std::string values(const FieldValue& a, const FieldValue& b) {
    if (a.index() != b.index()) return "the forms of the values differ";
    return std::visit([&]<class T>(const T& value) { return sameForm(value, std::get<T>(b)); }, a);
  }

  std::string sameForm(Val* a, Val* b) { return vals(a, b); }
  std::string sameForm(Scalar* a, Scalar* b) { return vals(a, b); }
  std::string sameForm(IterDomain* a, IterDomain* b) { return isSameAxis(a, b) ? "" : "the axes differ"; }
  std::string sameForm(const Block& a, const Block& b) { return blocks(a, b); }
  std::string sameForm(double a, double b) { return isSameValue(a, b) ? "" : fmt::format("{} and {}", a, b); }
  std::string sameForm(const EnumValue& a, const EnumValue& b) {
    return a == b ? "" : fmt::format("{} and {}", a.name(), b.name());
  }
  std::string sameForm(const std::shared_ptr<const HostSegment>& a, const std::shared_ptr<const HostSegment>& b) {
    if (a == nullptr || b == nullptr) return a == b ? "" : "one is missing";
    return a->number != b->number ? counts("as numbers", static_cast<size_t>(a->number), static_cast<size_t>(b->number))
                                  : firstDifference(*a->fusion, *b->fusion);
  }
  template <class T>
  std::string sameForm(const std::vector<T*>& a, const std::vector<T*>& b) {
    if (a.size() != b.size()) return counts("elements", a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) {
      if (std::string why = vals(a[i], b[i]); !why.empty()) return fmt::format("element {}: {}", i, why);
    }
    return "";
  }
  template <class T>
  std::string sameForm(const T& a, const T& b) {
    return a == b ? "" : "the values differ";
  }

  const Fusion& a_;
  const Fusion& b_;
  FusionNames names_a_;
  FusionNames names_b_;
  std::unordered_map<const void*, const void*> pairs_;  // node of a -> node of b
  std::unordered_map<const void*, const void*> taken_;  // and back
};

ProgramComparison::ProgramComparison(const Fusion& a, const Fusion& b) : pairing_(std::make_unique<Pairing>(a, b)) {}
ProgramComparison::~ProgramComparison() = default;
std::string ProgramComparison::interfaces() { return pairing_->interfaces(); }
std::string ProgramComparison::vals(const Val* a, const Val* b) { return pairing_->vals(a, b); }
std::string ProgramComparison::exprs(const Expr& a, const Expr& b) { return pairing_->exprs(a, b); }
std::string ProgramComparison::blocks(const Block& a, const Block& b) { return pairing_->blocks(a, b); }

std::string firstDifference(const Fusion& a, const Fusion& b) {
  ProgramComparison comparison(a, b);
  const std::string why = comparison.interfaces();
  return why.empty() ? comparison.blocks({a.allExprs()}, {b.allExprs()}) : why;
}

// What a fusion's text does not say (a domain that no command makes, root axes) may differ between fusions of one hash.
size_t structuralHash(const Fusion& fusion) { return std::hash<std::string>{}(printFusion(fusion)); }

}  // namespace tokamak
