#include "graph/product_group.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>

#include "base/require.h"
#include "define/activations.h"
#include "define/functions.h"
#include "graph/rewriter.h"
#include "ir/fields.h"
#include "ir/ops/host/post_on_stream.h"

namespace tokamak {

namespace {

constexpr std::array kActivations = {ProductActivation::Relu, ProductActivation::GeluTanh};

bool hasActivations(DataType dtype) {
  return dtype == DataType::F32 || dtype == DataType::F16 || dtype == DataType::BF16;
}

// The ops that define/ makes of an activation, to compare others with.
struct Model {
  Model(DataType dtype, ProductActivation activation) : fusion(std::make_unique<Fusion>("activation")) {
    in = fusion->tensor(dtype, {fusion->axis({.extent = fusion->symbol("n")})});
    out = castTo(activation == ProductActivation::Relu ? relu(in) : gelu_tanh(in), dtype);
  }

  std::unique_ptr<Fusion> fusion;
  TensorView* in = nullptr;
  TensorView* out = nullptr;
};

// The models, each made once per fusion.
class Models {
 public:
  const Model& of(DataType dtype, ProductActivation activation) {
    std::unique_ptr<Model>& model = models_[{dtype, activation}];
    if (model == nullptr) model = std::make_unique<Model>(dtype, activation);
    return *model;
  }

 private:
  std::map<std::pair<DataType, ProductActivation>, std::unique_ptr<Model>> models_;
};

bool isResultField(FieldRole role) { return role == FieldRole::Result || role == FieldRole::ResultList; }

// Compares a tensor's definition with the model's, from the result on.
class Comparison {
 public:
  explicit Comparison(const Model& model) : model_(model) {}

  bool isSame(Val* val, Val* of_model) {
    if (of_model == model_.in) {
      if (source_ == nullptr) source_ = asTensor(val);
      return source_ != nullptr && source_ == val && source_->dtype() == of_model->dtype();
    }
    if (Scalar* scalar = asScalar(of_model)) return isSameConstant(asScalar(val), *scalar);
    if (const auto known = counterparts_.find(val); known != counterparts_.end()) return known->second == of_model;
    if (asTensor(val) == nullptr || val->definition() == nullptr || val->dtype() != of_model->dtype()) return false;
    if (!isSameOp(*val->definition(), *of_model->definition())) return false;
    counterparts_[val] = of_model;
    exprs_.push_back(val->definition());
    return true;
  }

  // The tensor that corresponds to the model's operand.
  TensorView* source() const { return source_; }
  // In topological order.
  const std::vector<Expr*>& exprs() const { return exprs_; }

 private:
  static bool isSameConstant(const Scalar* scalar, const Scalar& of_model) {
    return scalar != nullptr && scalar->isConstant() && of_model.isConstant() && scalar->dtype() == of_model.dtype() &&
           scalar->value() == of_model.value();
  }

  bool isSameOp(const Expr& expr, const Expr& of_model) {
    if (expr.kind() != of_model.kind()) return false;
    const Fields fields = fieldsOf(expr);
    const Fields of_models = fieldsOf(of_model);
    for (size_t i = 0; i < fields.size(); ++i) {
      if (!isResultField(fields[i].role) && !isSameField(fields[i].value, of_models[i].value)) return false;
    }
    return true;
  }

  bool isSameField(const FieldValue& value, const FieldValue& of_model) {
    if (value.index() != of_model.index()) return false;
    if (auto* const* val = std::get_if<Val*>(&value)) return isSame(*val, std::get<Val*>(of_model));
    if (const auto* vals = std::get_if<std::vector<Val*>>(&value)) {
      return std::ranges::equal(*vals, std::get<std::vector<Val*>>(of_model),
                                [&](Val* a, Val* b) { return isSame(a, b); });
    }
    if (const auto* dtype = std::get_if<DataType>(&value)) return *dtype == std::get<DataType>(of_model);
    if (const auto* name = std::get_if<EnumValue>(&value)) return *name == std::get<EnumValue>(of_model);
    return false;  // (activations have no other attributes)
  }

  const Model& model_;
  TensorView* source_ = nullptr;
  std::map<const Val*, const Val*> counterparts_;
  std::vector<Expr*> exprs_;
};

// Whether the tensor is intermediate: only these ops read it, and it is no output.
bool isInside(const Fusion& fusion, const TensorView& tensor, const std::vector<Expr*>& exprs) {
  return !fusion.isOutput(&tensor) && std::ranges::all_of(tensor.uses(), [&](const Expr* use) {
    return std::ranges::find(exprs, use) != exprs.end();
  });
}

bool isExpanded(const TensorView& tensor) {
  return std::ranges::any_of(shapeOf(tensor), [](const IterDomain* axis) { return axis->expandedExtent() != nullptr; });
}

std::optional<ProductGroup> groupFor(const Fusion& fusion, TensorView& result, ProductActivation activation,
                                     Models& models) {
  const Model& model = models.of(result.dtype(), activation);
  Comparison comparison(model);
  if (!comparison.isSame(&result, model.out)) return std::nullopt;
  Expr* product = comparison.source()->definition();
  if (product == nullptr || !product->info().is_library || isExpanded(result)) return std::nullopt;
  ProductGroup group{.product = product, .activation = activation, .exprs = {product}, .result = &result};
  group.exprs.insert(group.exprs.end(), comparison.exprs().begin(), comparison.exprs().end());
  const auto isPrivate = [&](const Expr* expr) {
    const TensorView* out = asTensor(expr->output(0));
    return out == &result || isInside(fusion, *out, group.exprs);
  };
  if (!std::ranges::all_of(group.exprs, isPrivate)) return std::nullopt;
  return group;
}

std::optional<ProductGroup> groupOf(const Fusion& fusion, TensorView& result, Models& models) {
  if (result.definition() == nullptr || !hasActivations(result.dtype())) return std::nullopt;
  for (const ProductActivation activation : kActivations) {
    if (auto group = groupFor(fusion, result, activation, models)) return group;
  }
  return std::nullopt;
}

bool isUnmarkedInside(const ProductGroup& group) {
  return std::ranges::all_of(group.exprs, [&](const Expr* expr) {
    const TensorView* out = asTensor(expr->output(0));
    return out == group.result || isUnmarked(*out);
  });
}

}  // namespace

std::string_view activationName(ProductActivation activation) {
  switch (activation) {
    case ProductActivation::None: return "";
    case ProductActivation::Relu: return "relu";
    case ProductActivation::GeluTanh: return "gelu_tanh";
  }
  TK_CHECK(false, "no such activation");
}

std::optional<ProductGroup> productGroupOf(const Fusion& fusion, TensorView& result) {
  const auto isLibrary = [](const Expr* expr) { return expr->info().is_library; };
  if (std::ranges::none_of(fusion.allExprs(), isLibrary)) return std::nullopt;
  Models models;
  return groupOf(fusion, result, models);
}

std::optional<ProductGroup> productGroupOf(const HostSegment& segment) {
  const Fusion& fusion = *segment.fusion;
  if (fusion.outputs().size() != 1) return std::nullopt;
  auto group = productGroupOf(fusion, *fusion.outputs()[0]);
  return group && group->exprs.size() == fusion.exprs().size() ? std::move(group) : std::nullopt;
}

std::vector<ProductGroup> productGroups(const Fusion& fusion) {
  const std::vector<Expr*> exprs = fusion.exprs();
  std::vector<ProductGroup> groups;
  if (std::ranges::none_of(exprs, [](const Expr* expr) { return expr->info().is_library; })) return groups;
  Models models;
  for (const Expr* expr : exprs) {
    TensorView* result = expr->outputs().size() == 1 ? asTensor(expr->output(0)) : nullptr;
    if (result == nullptr) continue;
    auto group = groupOf(fusion, *result, models);
    if (group && isUnmarkedInside(*group)) groups.push_back(std::move(*group));
  }
  return groups;
}

}  // namespace tokamak
