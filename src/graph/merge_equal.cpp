#include "graph/merge_equal.h"

#include <algorithm>
#include <concepts>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "graph/movement.h"
#include "graph/replacement.h"
#include "graph/rewriter.h"
#include "ir/fields.h"

namespace tokamak {

namespace {

bool isResult(FieldRole role) { return role == FieldRole::Result || role == FieldRole::ResultList; }

class EqualExprs {
 public:
  explicit EqualExprs(const Fusion& fusion) : fusion_(&fusion) {}

  /// An equal earlier expression that may replace this one, or null; then this one is recorded. If this one's result is
  /// an output, the earlier one's becomes that output.
  const Expr* findEarlier(const Expr& expr) {
    const Expr* found = findEarlier(
        expr, [&](const Expr& earlier) { return canReplace(expr, earlier) || mayBecomeOutput(expr, earlier); });
    if (found != nullptr && mayBeView(expr)) given_.insert(found);
    return found;
  }

  /// The same for outputs: an equal earlier output.
  const Expr* findEqualOutput(const Expr& expr) {
    return findEarlier(expr, [&](const Expr& earlier) { return mayBeView(expr) && mayBeView(earlier); });
  }

 private:
  template <class Serves>
  const Expr* findEarlier(const Expr& expr, const Serves& serves) {
    std::vector<const Expr*>& known = known_[keyOf(expr)];
    bool is_known = false;
    for (const Expr* earlier : known) {
      if (!isEqual(expr, *earlier)) continue;
      if (serves(*earlier)) {
        for (size_t i = 0; i < expr.outputs().size(); ++i) representatives_[expr.output(i)] = earlier->output(i);
        return earlier;
      }
      is_known = is_known || mayBeView(*earlier) || !mayBeView(expr);
    }
    if (!is_known) known.push_back(&expr);
    return nullptr;
  }

  // Whether the expression computes an output that may be a view of another one, or have views.
  bool mayBeView(const Expr& expr) const {
    TensorView* output = expr.outputs().size() == 1 ? asTensor(expr.output(0)) : nullptr;
    return output != nullptr && !isMovement(&expr) && isUnmarked(*output) &&
           std::ranges::count(fusion_->outputs(), output) == 1 && !fusion_->outputAliases().contains(output);
  }

  // (Scalars are interned: equal ones are one node.)
  const Val* representativeOf(const Val* val) const {
    const auto found = representatives_.find(val);
    return found == representatives_.end() ? val : found->second;
  }

  using Key = std::pair<OpKind, std::vector<int64_t>>;
  Key keyOf(const Expr& expr) const {
    Key key{expr.kind(), {}};
    for (const Val* input : expr.inputs()) key.second.push_back(representativeOf(input)->id());
    return key;
  }

  bool isSameValue(const FieldValue& a, const FieldValue& b) const {
    return a.index() == b.index() &&
           std::visit([&]<class T>(const T& value) { return isSame(value, std::get<T>(b)); }, a);
  }
  template <class T>
  bool isSame(const T& a, const T& b) const {
    if constexpr (std::is_same_v<T, Val*>)
      return representativeOf(a) == representativeOf(b);
    else if constexpr (std::is_same_v<T, std::vector<Val*>>) {
      return std::ranges::equal(
          a, b, {}, [&](const Val* v) { return representativeOf(v); },
          [&](const Val* v) { return representativeOf(v); });
    } else if constexpr (std::equality_comparable<T>)
      return a == b;
    else
      return false;
  }

  bool isEqual(const Expr& a, const Expr& b) const {
    const Fields x = fieldsOf(a);
    const Fields y = fieldsOf(b);
    for (size_t i = 0; i < x.size(); ++i) {
      if (!isResult(x[i].role) && !isSameValue(x[i].value, y[i].value)) return false;
    }
    return true;
  }

  bool canReplace(const Expr& expr, const Expr& earlier) const {
    const auto areReplaceable = [&](const Expr& e) {
      return std::ranges::all_of(e.outputs(), [&](Val* out) {
        const TensorView* tensor = asTensor(out);
        return tensor != nullptr && isReplaceable(*fusion_, *tensor);
      });
    };
    const auto areUnscheduled = [&] {
      return std::ranges::all_of(earlier.outputs(), [&](Val* out) {
        return fusion_->isOutput(out) ? asTensor(out)->loop() == asTensor(out)->logical() : areReplaceable(earlier);
      });
    };
    return areReplaceable(expr) && areUnscheduled();
  }

  // Whether the earlier result may become this output: it is no other output.
  bool mayBecomeOutput(const Expr& expr, const Expr& earlier) const {
    return mayBeView(expr) && !given_.contains(&earlier) && isReplaceable(*fusion_, *asTensor(earlier.output(0)));
  }

  const Fusion* fusion_;
  std::unordered_set<const Expr*> given_;
  std::map<Key, std::vector<const Expr*>> known_;
  std::unordered_map<const Val*, const Val*> representatives_;
};

}  // namespace

std::unique_ptr<Fusion> mergeEqual(const Fusion& fusion) {
  EqualExprs equal(fusion);
  return rewriteFusion(fusion, [&](const Expr& expr, Cloner& cloner) {
    const Expr* earlier = expr.kind() == OpKind::LoadStoreOp ? nullptr : equal.findEarlier(expr);
    if (earlier == nullptr) return false;
    for (size_t i = 0; i < expr.outputs().size(); ++i)
      cloner.substitute(expr.output(i), cloner.clone(earlier->output(i)));
    if (fusion.isOutput(expr.output(0)))
      cloner.clone(asTensor(earlier->output(0)))->setNamesOf(*asTensor(expr.output(0)));
    return true;
  });
}

namespace {

// Makes readers of `from` read `to`.
void readOther(TensorView* from, TensorView* to) {
  const std::vector<Expr*> uses(from->uses().begin(), from->uses().end());
  for (Expr* use : uses) {
    Fields fields = fieldsOf(*use);
    for (Field& field : fields) {
      if (isResult(field.role)) continue;
      if (auto* val = std::get_if<Val*>(&field.value); val != nullptr && *val == from) *val = to;
      if (auto* vals = std::get_if<std::vector<Val*>>(&field.value))
        std::ranges::replace(*vals, static_cast<Val*>(from), static_cast<Val*>(to));
    }
    from->fusion().replaceExpr(use, makeExpr(use->kind(), fields));
  }
}

}  // namespace

std::unique_ptr<Fusion> viewEqualOutputs(const Fusion& fusion) {
  EqualExprs equal(fusion);
  std::vector<std::pair<const Val*, const Val*>> shown;  // output -> the earlier one
  std::unique_ptr<Fusion> result = rewriteFusion(fusion, [&](const Expr& expr, Cloner& cloner) {
    const Expr* earlier = equal.findEqualOutput(expr);
    if (earlier == nullptr || !readOrView(fusion, expr, cloner, asTensor(cloner.clone(earlier->output(0)))))
      return false;
    shown.emplace_back(expr.output(0), earlier->output(0));
    return true;
  });
  if (shown.empty()) return nullptr;
  const auto outputOf = [&](const Val* output) {
    return result
        ->outputs()[static_cast<size_t>(std::ranges::find(fusion.outputs(), output) - fusion.outputs().begin())];
  };
  for (const auto& [output, of] : shown) readOther(outputOf(output), outputOf(of));
  return result;
}

}  // namespace tokamak
