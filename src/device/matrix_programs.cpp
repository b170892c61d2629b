#include "device/matrix_programs.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/require.h"
#include "define/callables.h"
#include "define/functions.h"
#include "define/structured.h"
#include "device/work.h"
#include "ir/clone.h"
#include "ir/ops/host/post_on_stream.h"

namespace tokamak {

namespace {

// An operand along all axes of the problem; where it does not change its stride is 0.
struct View {
  size_t operand = 0;
  std::vector<int64_t> strides;
};

class ProgramMaker {
 public:
  ProgramMaker(const GemmProblem& problem, std::span<const OperandDesc> operands, const char* name)
      : problem_(problem), operands_(operands), segment_(std::make_shared<HostSegment>()) {
    segment_->fusion = std::make_unique<Fusion>(name);
    program_.owner = std::make_unique<Fusion>(name);
    for (size_t i = 0; i < problem.batches.size(); ++i) addAxis(fmt::format("b{}", i), problem.batches[i].size);
    addAxis("m", problem.m);
    addAxis("n", problem.n);
  }

  void addAxis(const std::string& name, int64_t size) {
    names_.push_back(name);
    sizes_.push_back(size);
  }

  TensorView* input(const View& view) {
    Axes axes;
    for (const std::string& name : names_)
      axes.push_back(segment_->fusion->axis({.extent = symbolOf(*segment_->fusion, name)}));
    TensorView* tensor = segment_->fusion->tensor(problem_.dtype, std::move(axes));
    segment_->fusion->addInput(tensor);
    describe(view, names_.size(), problem_.dtype);
    return tensor;
  }

  MatrixProgram finish(TensorView* result, const View& view) {
    segment_->fusion->addOutput(result);
    describe(view, view.strides.size(), problem_.result);
    Fusion& owner = *program_.owner;
    PostOnStream post;
    const auto placeholder = [&](size_t rank, DataType dtype) {
      Axes axes;
      for (size_t i = 0; i < rank; ++i) axes.push_back(owner.axis({.extent = symbolOf(owner, names_[i])}));
      return owner.tensor(dtype, std::move(axes));
    };
    for (size_t i = 0; i < segment_->fusion->inputs().size(); ++i)
      post.ins.push_back(placeholder(names_.size(), problem_.dtype));
    post.outs.push_back(placeholder(view.strides.size(), problem_.result));
    for (size_t i = 0; i < names_.size(); ++i)
      program_.bindings[symbolOf(*segment_->fusion, names_[i])] = ScalarValue{sizes_[i]};
    post.segment = std::move(segment_);
    program_.expr = owner.appendOp(std::move(post));
    return std::move(program_);
  }

  View viewOf(size_t operand, int64_t GemmProblem::Batch::* batch, const MatrixStrides& strides) const {
    View view{.operand = operand, .strides = {}};
    for (const GemmProblem::Batch& b : problem_.batches) view.strides.push_back(batch == nullptr ? 0 : b.*batch);
    view.strides.push_back(strides.row);
    view.strides.push_back(strides.column);
    return view;
  }

 private:
  static Scalar* symbolOf(Fusion& fusion, const std::string& name) {
    for (Scalar* symbol : fusion.allSymbols())
      if (symbol->name() == name) return symbol;
    return fusion.symbol(name);
  }

  void describe(const View& view, size_t rank, DataType dtype) {
    program_.operands.push_back({.dtype = dtype,
                                 .sizes = {sizes_.begin(), sizes_.begin() + static_cast<ptrdiff_t>(rank)},
                                 .strides = view.strides,
                                 .alignment = operands_[view.operand].alignment});
    program_.numbers.push_back(view.operand);
  }

  const GemmProblem& problem_;
  std::span<const OperandDesc> operands_;
  std::shared_ptr<HostSegment> segment_;
  MatrixProgram program_;
  std::vector<std::string> names_;
  std::vector<int64_t> sizes_;
};

}  // namespace

GroupOperands operandsOf(const ProductGroup& group, std::span<const OperandDesc> of_segment) {
  const std::vector<TensorView*> inputs = tensorsOf(group.product->fusion().inputs());
  TK_CHECK(of_segment.size() == inputs.size() + 1, "a product group with {} inputs has {} operands", inputs.size(),
           of_segment.size());
  GroupOperands operands;
  const auto add = [&](size_t number) {
    operands.descs.push_back(of_segment[number]);
    operands.numbers.push_back(number);
  };
  for (const TensorView* operand : tensorsOf(group.product->inputs())) {
    const auto found = std::ranges::find(inputs, operand);
    TK_CHECK(found != inputs.end(), "{} is no input of its product group", toString(*operand));
    add(static_cast<size_t>(found - inputs.begin()));
  }
  add(inputs.size());
  return operands;
}

OperandDesc denseLike(const OperandDesc& operand) {
  constexpr int64_t kAlignment = 256;
  OperandDesc dense{
      .dtype = operand.dtype, .sizes = operand.sizes, .strides = operand.strides, .alignment = kAlignment};
  int64_t stride = 1;
  for (size_t i = dense.sizes.size(); i-- > 0;) {
    dense.strides[i] = stride;
    stride *= dense.sizes[i];
  }
  return dense;
}

MatrixProgram biasProgram(const GemmProblem& problem, std::span<const OperandDesc> operands) {
  ProgramMaker maker(problem, operands, "bias");
  TensorView* bias = maker.input(maker.viewOf(*problem.bias_operand, nullptr, problem.bias));
  TensorView* widened = problem.dtype == problem.result ? set(bias) : cast(bias, problem.result);
  return maker.finish(widened, maker.viewOf(problem.c_operand, &GemmProblem::Batch::c, problem.c));
}

MatrixProgram productProgram(const GemmProblem& problem, std::span<const OperandDesc> operands) {
  // No products: an axis without elements has no first one either (below).
  if (problem.k == 0 && problem.bias_operand) return biasProgram(problem, operands);
  ProgramMaker maker(problem, operands, "product");
  const View result = maker.viewOf(problem.c_operand, &GemmProblem::Batch::c, problem.c);
  maker.addAxis("k", problem.k);
  View left = maker.viewOf(problem.a_operand, &GemmProblem::Batch::a, {problem.a.row, 0});
  left.strides.push_back(problem.a.column);
  View right = maker.viewOf(problem.b_operand, &GemmProblem::Batch::b, {0, problem.b.column});
  right.strides.push_back(problem.b.row);
  TensorView* product = sum(mul(maker.input(left), maker.input(right)), {-1});
  if (problem.bias_operand) {
    // Along k, too, of which one element is taken: an operand of the whole program has all its axes.
    View bias = maker.viewOf(*problem.bias_operand, nullptr, problem.bias);
    bias.strides.push_back(0);
    product = add(product, select(maker.input(bias), -1, 0));
  }
  return maker.finish(cast(product, problem.result), result);
}

MatrixProgram activationProgram(const ProductGroup& group, OperandDesc product, OperandDesc result,
                                const ScalarBindings& bindings) {
  TensorView* in = asTensor(group.product->output(0));
  const std::string name(activationName(group.activation));
  auto segment = std::make_shared<HostSegment>();
  segment->fusion = std::make_unique<Fusion>(name);
  Cloner inner(*segment->fusion);
  segment->fusion->addInput(inner.clone(in));
  for (const Expr* expr : group.exprs)
    if (expr != group.product) inner.clone(*expr);
  segment->fusion->addOutput(inner.clone(group.result));
  MatrixProgram program{.owner = std::make_unique<Fusion>(name),
                        .operands = {std::move(product), std::move(result)},
                        .numbers = {},
                        .bindings = {}};
  for (Scalar* symbol : in->fusion().allSymbols()) {
    const auto found = bindings.find(symbol);
    if (found != bindings.end() && inner.contains(symbol)) program.bindings[inner.clone(symbol)] = found->second;
  }
  Cloner outer(*program.owner);
  PostOnStream post;
  post.ins = {outer.clone(static_cast<Val*>(in))};
  post.outs = {outer.clone(group.result)};
  post.segment = std::move(segment);
  program.expr = program.owner->appendOp(std::move(post));
  return program;
}

}  // namespace tokamak
