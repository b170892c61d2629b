#include "draw_numeric.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "define/activations.h"
#include "define/functions.h"
#include "define/normalization.h"
#include "define/reductions.h"
#include "define/shapes.h"
#include "define/softmax.h"
#include "define/statistics.h"
#include "oracle/index.h"
#include "random.h"

namespace tokamak::generator {

namespace {

class NumericDrawer {
 public:
  explicit NumericDrawer(uint64_t seed) : random_(seed), fusion_(std::make_unique<Fusion>("numeric")) {}

  std::unique_ptr<Fusion> draw() {
    constexpr int64_t extents[] = {1, 2, 3, 5, 8, 17, 31, 51, 64, 96};
    rows_ = random_.pick(extents);
    columns_ = random_.pick(extents);
    const int64_t inputs = random_.between(1, 3);
    for (int64_t i = 0; i < inputs; ++i) addInput();
    const int64_t ops = random_.between(1, 9);
    for (int64_t i = 0; i < ops; ++i) addResult();
    for (TensorView* tensor : tensors_) {
      if (!fusion_->isInput(tensor) && !read_.contains(tensor)) fusion_->addOutput(tensor);
    }
    return std::move(fusion_);
  }

 private:
  // Some inputs are cut and padded to rows and columns.
  void addInput() {
    constexpr DataType types[] = {DataType::F32, DataType::F16, DataType::BF16, DataType::F64};
    constexpr int weights[] = {70, 10, 10, 10};
    const bool is_padded = random_.chance(20);
    TensorDomain domain;
    std::vector<int64_t> widths;
    for (const int64_t size : {rows_, columns_}) {
      const int64_t wanted = random_.chance(15) ? 1 : size;
      const int64_t before = is_padded ? random_.between(-3, 3) : 0;
      const int64_t after = is_padded ? random_.between(-3, 3) : 0;
      const bool fits = wanted - before - after >= 1;
      widths.insert(widths.end(), {fits ? before : 0, fits ? after : 0});
      const int64_t given = fits ? wanted - before - after : wanted;
      domain.logical.push_back(given == 1 ? fusion_->axis({.kind = IterKind::Broadcast})
                                          : fusion_->axis({.extent = fusion_->constant(given)}));
    }
    TensorView* tensor = fusion_->tensor(types[random_.weighted(weights)], std::move(domain));
    fusion_->addInput(tensor);
    tensors_.push_back(is_padded ? pad(tensor, widths, random_.chance(50) ? 1.0 : 0.0) : tensor);
  }

  TensorView* pick() {
    // Chains are harder than trees.
    TensorView* tensor = random_.chance(50) ? tensors_.back() : random_.pick(tensors_);
    read_.insert(tensor);
    return tensor;
  }
  TensorView* pickFloating() {
    TensorView* tensor = pick();
    return isFloatingType(tensor->dtype()) ? tensor : castTo(tensor, DataType::F32);
  }
  TensorView* castTo(TensorView* tensor, DataType dtype) { return cast(tensor, dtype); }

  Val* pickOperand() {
    if (random_.chance(75)) return pick();
    constexpr double numbers[] = {0, 0.5, 1, 2, 3, -1, -2.5, 10};
    return fusion_->constant(random_.pick(numbers), DataType::F32);
  }

  TensorView* drawFunction() {
    while (true) {
      const FunctionInfo info = random_.pick(allFunctions());
      std::vector<tokamak::Operand> operands = {tokamak::Operand(pick())};
      DataType promoted = operands[0].dtype();
      while (static_cast<int>(operands.size()) < info.arity) {
        Val* operand = pickOperand();
        promoted = operands.size() == 1 && info.rule == TypeRule::Choose ? operand->dtype()
                                                                         : promoteTypes(promoted, operand->dtype());
        operands.emplace_back(operand);
      }
      if (!functionTypes(info.id, promoted)) continue;
      return asTensor(applyFunction(info.id, operands));
    }
  }

  std::vector<int64_t> pickAxes() {
    const int64_t way = random_.below(3);
    return way == 2 ? std::vector<int64_t>{0, 1} : std::vector<int64_t>{way};
  }

  TensorView* drawReduction() {
    TensorView* in = pickFloating();
    const std::vector<int64_t> axes = pickAxes();
    switch (random_.below(7)) {
      case 0: return mean(in, axes, {.keepdim = true});
      case 1: return var(in, axes, {.correction = 1.0, .keepdim = true});
      case 2: return max(in, axes, {.keepdim = true});
      case 3: return prod(in, axes, {.keepdim = true});
      default: return sum(in, axes, {.keepdim = true});
    }
  }

  TensorView* drawComposite() {
    TensorView* in = pickFloating();
    switch (random_.below(9)) {
      case 0: return softmax(in, random_.below(2));
      case 1: return log_softmax(in, random_.below(2));
      case 2: return layer_norm(in);
      case 3: return rms_norm(in);
      case 4: return gelu(in);
      case 5: return gelu_tanh(in);
      case 6: return softplus(in);
      case 7: return div(in, sum(in, pickAxes(), {.keepdim = true}));
      default: return sub(in, mean(in, pickAxes(), {.keepdim = true}));
    }
  }

  TensorView* drawCast() {
    constexpr DataType types[] = {DataType::F32, DataType::F16, DataType::BF16, DataType::F64, DataType::I32};
    return castTo(pick(), random_.pick(types));
  }

  void addResult() {
    constexpr int weights[] = {60, 18, 14, 8};
    TensorView* result = nullptr;
    switch (random_.weighted(weights)) {
      case 0: result = drawFunction(); break;
      case 1: result = drawReduction(); break;
      case 2: result = drawComposite(); break;
      default: result = drawCast(); break;
    }
    tensors_.push_back(result);
  }

  Random random_;
  std::unique_ptr<Fusion> fusion_;
  int64_t rows_ = 1;
  int64_t columns_ = 1;
  std::vector<TensorView*> tensors_ = {};
  std::set<const TensorView*> read_ = {};
};

}  // namespace

std::unique_ptr<Fusion> drawNumericProgram(uint64_t seed) { return NumericDrawer(seed).draw(); }

std::vector<InputData> drawNumericData(const Fusion& fusion, uint64_t seed) {
  Random random(~seed);
  std::vector<InputData> data;
  for (Val* input : fusion.inputs()) {
    const TensorView& tensor = *asTensor(input);
    StoredData stored = {.dtype = tensor.dtype()};
    for (const IterDomain* axis : shapeOf(tensor)) stored.sizes.push_back(evaluateInt(*axis->visibleExtent(), {}));
    stored.bytes.resize(static_cast<size_t>(oracle::countOf(stored.sizes) * sizeOf(stored.dtype)));
    stored.strides.assign(stored.sizes.size(), 1);
    for (size_t i = stored.sizes.size() - 1; i-- > 0;)
      stored.strides[i] = stored.strides[i + 1] * std::max<int64_t>(1, stored.sizes[i + 1]);
    constexpr double scales[] = {1, 1, 1, 0.01, 5, 30};
    const double scale = random.pick(scales);
    const double middle = random.chance(20) ? 3 * scale : 0;
    const bool has_whole = random.chance(15);  // numbers at which functions have their zeros and poles
    for (size_t at = 0; at < stored.bytes.size(); at += static_cast<size_t>(sizeOf(stored.dtype))) {
      const double number = middle + scale * random.normal();
      const bool is_whole = has_whole && random.chance(50);
      oracle::storeElement(stored.dtype, {.number = is_whole ? std::round(number) : number}, stored.bytes.data() + at);
    }
    data.emplace_back(std::move(stored));
  }
  return data;
}

}  // namespace tokamak::generator
