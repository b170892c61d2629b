#include "ir/structural_form.h"

#include <bit>
#include <unordered_map>

#include "base/require.h"
#include "ir/fields.h"

namespace tokamak {

namespace {

class FormWriter {
 public:
  StructuralForm write(const Fusion& fusion) {
    for (const Val* input : fusion.inputs()) val(input);
    word(-1);
    for (const Expr* expr : fusion.allExprs()) this->expr(*expr);
    word(-2);
    for (const TensorView* output : fusion.outputs()) val(output);
    for (const auto& [output, alias] : fusion.outputAliases()) {
      val(output);
      val(alias.target);
      word(alias.is_hidden ? 1 : 0);
    }
    return std::move(form_);
  }

 private:
  void word(int64_t value) { form_.words.push_back(value); }
  template <class Enum>
  void tag(Enum value) {
    word(static_cast<int64_t>(value));
  }

  // The number of a node, and whether it is met for the first time.
  bool isNew(const void* node) {
    const auto [found, is_new] = numbers_.try_emplace(node, static_cast<int64_t>(numbers_.size()));
    word(found->second);
    return is_new;
  }

  void expr(const Expr& expr) {
    tag(expr.kind());
    for (const Field& field : fieldsOf(expr)) {
      word(static_cast<int64_t>(field.value.index()));
      std::visit([&](const auto& value) { this->field(value); }, field.value);
    }
  }

  void field(std::monostate) {}
  void field(const Val* value) { val(value); }
  void field(const Scalar* value) { val(value); }
  void field(const IterDomain* value) { axis(value); }
  void field(int64_t value) { word(value); }
  void field(bool value) { word(value ? 1 : 0); }
  void field(double value) { word(std::bit_cast<int64_t>(value)); }
  void field(DataType value) { tag(value); }
  void field(const EnumValue& value) { word(static_cast<int64_t>(value.index)); }
  void field(const std::string& value) {
    word(static_cast<int64_t>(value.size()));
    for (const char c : value) word(c);
  }
  template <class T>
  void field(const std::vector<T>& values) {
    word(static_cast<int64_t>(values.size()));
    for (const T value : values) field(value);
  }
  void field(const Block&) { TK_CHECK(false, "the form of a fusion with a body was asked for"); }
  void field(const std::shared_ptr<const HostSegment>&) {
    TK_CHECK(false, "the form of a host program was asked for; it is one of fusions");
  }

  void val(const Val* value) {
    if (value == nullptr) return word(-1);
    if (!isNew(value)) return;
    tag(value->kind());
    tag(value->dtype());
    if (const auto* tensor = asTensor(const_cast<Val*>(value))) return this->tensor(*tensor);
    TK_CHECK(value->kind() == ValKind::Scalar, "the form of a fusion with a stream was asked for");
    scalar(static_cast<const Scalar&>(*value));
  }

  void scalar(const Scalar& scalar) {
    tag(scalar.op());
    if (scalar.isSymbol()) return form_.symbols.push_back(const_cast<Scalar*>(&scalar));
    if (scalar.isConstant()) {
      word(static_cast<int64_t>(scalar.value().index()));
      return std::visit([&](auto value) { field(value); }, scalar.value());
    }
    if (scalar.op() == ScalarOp::Function) tag(scalar.function());
    for (const Scalar* operand : scalar.operands()) val(operand);
  }

  void tensor(const TensorView& tensor) {
    tag(tensor.memoryType());
    tag(tensor.memoryKind());
    field(tensor.mesh().shape);
    field(tensor.mesh().devices);
    word(static_cast<int64_t>(tensor.partials().size()));
    for (const Partial& partial : tensor.partials()) {
      tag(partial.kind);
      tag(partial.type);
    }
    word(tensor.circularBuffer() ? 1 : 0);
    if (tensor.circularBuffer()) {
      word(tensor.circularBuffer()->stages);
      word(tensor.circularBuffer()->prefetch);
    }
    word(tensor.bufferPadding() ? 1 : 0);
    if (tensor.bufferPadding()) {
      word(tensor.bufferPadding()->axis);
      word(tensor.bufferPadding()->elements);
    }
    const TensorDomain& domain = tensor.domain();
    for (const Axes* axes : {&domain.root, &domain.logical, &domain.loop, &domain.allocation}) {
      word(static_cast<int64_t>(axes->size()));
      for (const IterDomain* each : *axes) axis(each);
    }
    word(domain.inline_position);
    word(static_cast<int64_t>(domain.contiguity.size()));
    for (const std::optional<bool>& dense : domain.contiguity) word(dense ? (*dense ? 1 : 0) : 2);
    for (const auto* order : {&domain.stride_order, &domain.stride_order_hint}) {
      word(order->has_value() ? 1 : 0);
      if (order->has_value()) field(**order);
    }
  }

  void axis(const IterDomain* axis) {
    if (axis == nullptr) return word(-1);
    if (!isNew(axis)) return;
    tag(axis->kind());
    tag(axis->parallelType());
    word(axis->isRFactor() ? 1 : 0);
    val(axis->extent());
    val(axis->expandedExtent());
    if (axis->definition() == nullptr) return word(-1);
    const DomainExpr& step = *axis->definition();
    if (!isNew(&step)) return word(step.out[1] == axis ? 1 : 0);
    tag(step.kind);
    tag(step.swizzle);
    word(step.is_inner_factor ? 1 : 0);
    val(step.factor);
    this->axis(step.in[0]);
    this->axis(step.in[1]);
    word(step.out[1] == axis ? 1 : 0);
  }

  StructuralForm form_;
  std::unordered_map<const void*, int64_t> numbers_;
};

}  // namespace

StructuralForm structuralFormOf(const Fusion& fusion) { return FormWriter().write(fusion); }

size_t FormHash::operator()(const std::vector<int64_t>& words) const {
  uint64_t hash = 0xcbf29ce484222325ULL;
  for (const int64_t word : words) {
    hash = (hash ^ static_cast<uint64_t>(word)) * 0x9e3779b97f4a7c15ULL;
    hash ^= hash >> 29U;
  }
  return hash;
}

}  // namespace tokamak
