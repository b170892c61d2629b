#include "host_run/streams/stream_forms.h"

#include <cctype>

#include <fmt/format.h>

#include "base/text.h"

namespace tokamak {

namespace {

void addProducts(std::vector<OpForm>& forms) {
  const std::vector<std::string> lefts = {"k", "m, k", "b, m, k", "a, b, m, k"};
  const std::vector<std::string> rights = {"k", "k, n", "b, k, n", "a, b, k, n"};
  const auto add = [&](const std::string& left, const std::string& right) {
    forms.push_back({fmt::format("matmul [{}] x [{}]", left, right),
                     fmt::format("T0: f32[{}], T1: f32[{}]", left, right), "matmul(T0, T1)"});
  };
  for (const std::string& left : lefts) {
    for (const std::string& right : rights) add(left, right);
  }
  // Batch axes that one operand repeats.
  add("1, m, k", "b, k, n");
  add("b, m, k", "1, k, n");
  add("a, 1, m, k", "b, k, n");
  add("a, 1, m, k", "1, b, k, n");
  add("b, 1, k", "b, k, 1");
  for (const std::string& in : lefts) {
    for (const std::string weight : {"k", "n, k"}) {
      const auto operands = fmt::format("T0: f32[{}], T1: f32[{}]", in, weight);
      forms.push_back({fmt::format("linear [{}] x [{}]", in, weight), operands, "linear(T0, T1)"});
      const std::string bias = weight == "k" ? "" : "n";
      forms.push_back({fmt::format("linear [{}] x [{}] + [{}]", in, weight, bias),
                       fmt::format("{}, T2: f32[{}]", operands, bias), "linear(T0, T1, T2)"});
    }
  }
  forms.push_back({"matmul of f64 [b, m, k] x [b, k, n]", "T0: f64[b, m, k], T1: f64[b, k, n]", "matmul(T0, T1)"});
  forms.push_back({"matmul of i32 [b, m, k] x [b, k, n]", "T0: i32[b, m, k], T1: i32[b, k, n]", "matmul(T0, T1)"});
  forms.push_back({"matmul of bf16 [b, m, k] x [b, k, n]", "T0: bf16[b, m, k], T1: bf16[b, k, n]", "matmul(T0, T1)"});
  forms.push_back({"matmul of bf16 that gives f32 [b, m, k] x [b, k, n]", "T0: bf16[b, m, k], T1: bf16[b, k, n]",
                   "matmul(T0, T1, dtype=f32)"});
}

void addPointwise(std::vector<OpForm>& forms) {
  forms.push_back({"set", "T0: f32[a, b, c]", "set(T0)"});
  forms.push_back({"segment_set", "T0: f32[a, b, c]", "segment_set(T0)"});
  forms.push_back({"exp of a segment_set", "T0: f32[a, b, c]", "exp(segment_set(neg(T0)))"});
  forms.push_back({"fmax", "T0: f32[a, b, c], T1: f32[a, b, c]", "fmax(T0, T1)"});
  forms.push_back({"cast", "T0: f32[a, b, c]", "cast(T0, dtype=f64)"});
  forms.push_back({"exp", "T0: f32[a, b, c]", "exp(T0)"});
  forms.push_back({"exp of a scalar", "T0: f32[]", "exp(T0)"});
  forms.push_back({"add", "T0: f32[a, b, c], T1: f32[a, b, c]", "add(T0, T1)"});
  forms.push_back({"add of a column", "T0: f32[a, b, c], T1: f32[a, b, 1]", "add(T0, T1)"});
  forms.push_back({"add of row and column", "T0: f32[a, 1], T1: f32[1, b]", "add(T0, T1)"});
  forms.push_back({"where", "T0: bool[a, b], T1: f32[a, b], T2: f32[1, b]", "where(T0, T1, T2)"});
}

void addMovement(std::vector<OpForm>& forms) {
  forms.push_back({"broadcast", "T0: f32[a, c]", "broadcast(T0, flags=[false, true, false])"});
  forms.push_back({"expand", "T0: f32[a, 1, c], T1: f32[b]", "exp(expand(T0, shape=[a, b, c]))"});
  forms.push_back({"expand of all", "T0: f32[1, 1], T1: f32[a, b]", "exp(expand(T0, shape=[a, b]))"});
  forms.push_back({"squeeze", "T0: f32[a, 1, c]", "squeeze(T0, axes=[1])"});
  forms.push_back({"permute", "T0: f32[a, b, c]", "permute(T0, order=[2, 0, 1])"});
  forms.push_back({"reshape that splits", "T0: f32[a, 6]", "reshape(T0, shape=[a, 2, 3])"});
  forms.push_back({"reshape that merges", "T0: f32[2, 3, a]", "reshape(T0, shape=[6, a])"});
  forms.push_back({"reshape that regroups", "T0: f32[4, 3, a]", "reshape(T0, shape=[2, 6, a])"});
  forms.push_back({"reshape that splits the outer axis", "T0: f32[6, a]", "reshape(T0, shape=[2, 3, a])"});
  forms.push_back({"reshape that splits an axis in three", "T0: f32[a, 12]", "reshape(T0, shape=[a, 2, 3, 2])"});
  forms.push_back({"reshape that merges symbols", "T0: f32[a, b, c]", "reshape(T0, shape=[a * b, c])"});
  forms.push_back({"reshape that merges all", "T0: f32[a, b, c]", "reshape(T0, shape=[a * b * c])"});
  forms.push_back({"reshape that splits into symbols", "T0: f32[a, b]", "reshape(T0, shape=[b, a])"});
  forms.push_back(
      {"reshape of a reshape", "T0: f32[6, a]", "exp(reshape(reshape(T0, shape=[2, 3, a]), shape=[6, a]))"});
  forms.push_back({"reshape of an expanded axis", "T0: f32[1, a], T1: f32[6, a]",
                   "reshape(expand(T0, shape=[6, a]), shape=[2, 3, a])"});
  forms.push_back({"reshape of equal extents", "T0: f32[a, b, c]", "reshape(T0, shape=[a, b, 1, c])"});
  forms.push_back({"select", "T0: f32[a, 3, c]", "select(T0, axis=1, index=1)"});
  forms.push_back({"slice", "T0: f32[a, 5, c]", "slice(T0, axis=1, start=1, stop=4)"});
  forms.push_back({"slice with steps", "T0: f32[a, 5, c]", "slice(T0, axis=1, start=0, stop=5, step=2)"});
  forms.push_back({"slice of an expanded axis", "T0: f32[a, 1, c]",
                   "exp(slice(expand(T0, shape=[a, 5, c]), axis=1, start=1, stop=4))"});
  forms.push_back({"difference of shifted slices", "T0: f32[a, 5, c]",
                   "sub(slice(T0, axis=1, start=1, stop=5), slice(T0, axis=1, start=0, stop=4))"});
  forms.push_back({"pad", "T0: f32[a, b, c]", "pad(T0, widths=[0, 0, 1, 2, 0, 0], value=2)"});
  forms.push_back({"pad that cuts", "T0: f32[a, b, 7]", "pad(T0, widths=[1, 0, 0, 0, -1, -2], value=2)"});
  forms.push_back({"pad of one element", "T0: f32[a, 1, c]", "pad(T0, widths=[0, 0, 2, 1, 0, 0], value=2)"});
  forms.push_back({"pad of an expanded axis", "T0: f32[1, c], T1: f32[b, c]",
                   "pad(expand(T0, shape=[b, c]), widths=[1, 1, 0, 0], value=2)"});
  forms.push_back({"exp of a pad", "T0: f32[a, b]", "exp(pad(T0, widths=[2, 1, 1, 2]))"});
  forms.push_back({"cat", "T0: f32[a, b, c], T1: f32[a, d, c]", "cat([T0, T1], axis=1)"});
  forms.push_back(
      {"cat of the first axis", "T0: f32[a, c], T1: f32[1, c], T2: f32[b, c]", "cat([T0, T1, T2], axis=0)"});
  forms.push_back({"cat of a tensor with itself", "T0: f32[a, b]", "cat([T0, exp(T0), T0], axis=1)"});
  forms.push_back(
      {"cat of expanded axes", "T0: f32[1, c], T1: f32[b, c]", "cat([expand(T0, shape=[b, c]), T1], axis=0)"});
  forms.push_back({"exp of a cat of slices", "T0: f32[a, 5]",
                   "exp(cat([slice(T0, axis=1, start=2), slice(T0, axis=1, start=0, stop=2)], axis=1))"});
  forms.push_back({"full", "T0: f32[a, b]", "full(shape=[a, b], value=3.0)"});
  forms.push_back({"iota", "T0: f32[a]", "iota(a, start=2, step=3)"});
  // Start and step of as many bits as the type has, so that no sum or product of them is exact.
  forms.push_back({"iota of bf16", "T0: f32[a]", "iota((a * 20), start=3.015625, step=-3.015625, dtype=bf16)"});
  forms.push_back({"iota of f32", "T0: f32[a]", "iota((a * 20), start=16777215, step=1.0000001, dtype=f32)"});
}

void addReductions(std::vector<OpForm>& forms) {
  for (const std::string op : {"sum", "max", "min", "prod"}) {
    forms.push_back({op + " of the last axis", "T0: f32[a, b, c]", op + "(T0, axes=[2])"});
    forms.push_back({op + " of the middle axis", "T0: f32[a, b, c]", op + "(T0, axes=[1])"});
  }
  forms.push_back({"sum of the first axis", "T0: f32[a, b, c]", "sum(T0, axes=[0])"});
  forms.push_back({"sum of two axes", "T0: f32[a, b, c, d]", "sum(T0, axes=[0, 2])"});
  forms.push_back({"sum of all axes", "T0: f32[a, b]", "sum(T0, axes=[0, 1])"});
  forms.push_back({"sum with keepdim", "T0: f32[a, b, c]", "sum(T0, axes=[1], keepdim=true)"});
  forms.push_back({"sum of i32", "T0: i32[a, b, c]", "sum(T0, axes=[1])"});
  forms.push_back({"mean", "T0: f32[a, b, c]", "mean(T0, axes=[1])"});
  forms.push_back({"var", "T0: f32[a, b, c]", "var(T0, axes=[2])"});
}

void addIndexing(std::vector<OpForm>& forms) {
  for (const int axis : {0, 1}) {
    const auto along = fmt::format(" along axis {}", axis);
    forms.push_back({"take_along_axis" + along, "T0: f32[a, b], T1: i64[c, d]",
                     fmt::format("take_along_axis(T0, T1, axis={})", axis)});
    forms.back().signature = axis == 0 ? "T0: f32[a, b], T1: i64[c, b]" : "T0: f32[a, b], T1: i64[a, c]";
    forms.push_back({"index_select" + along, "T0: f32[a, b], T1: i64[c]",
                     fmt::format("index_select(T0, axis={}, index=T1)", axis)});
    forms.push_back(
        {"gather" + along, forms[forms.size() - 2].signature, fmt::format("gather(T0, axis={}, index=T1)", axis)});
  }
  forms.push_back(
      {"take_along_axis of three axes", "T0: f32[a, b, c], T1: i64[a, d, c]", "take_along_axis(T0, T1, axis=1)"});
  forms.push_back({"embedding", "T0: f32[a, b], T1: i64[c, d]", "embedding(T0, T1)"});
  forms.push_back({"embedding with max_norm", "T0: f32[a, b], T1: i64[c, d]", "embedding(T0, T1, max_norm=1.0)"});
}

void addComposites(std::vector<OpForm>& forms) {
  const std::string heads = "T0: f32[a, b, m, k], T1: f32[a, b, n, k], T2: f32[a, b, n, c]";
  forms.push_back({"attention [a, b, m, k]", heads, "attention(T0, T1, T2)"});
  forms.push_back({"causal attention [a, b, m, k]", "T0: f32[a, b, m, k], T1: f32[a, b, m, k], T2: f32[a, b, m, k]",
                   "attention(T0, T1, T2, is_causal=true)"});
  forms.push_back(
      {"attention [b, m, k]", "T0: f32[b, m, k], T1: f32[b, n, k], T2: f32[b, n, c]", "attention(T0, T1, T2)"});
  forms.push_back({"attention [m, k]", "T0: f32[m, k], T1: f32[n, k], T2: f32[n, c]", "attention(T0, T1, T2)"});
  forms.push_back({"attention of one key head", "T0: f32[a, b, m, k], T1: f32[a, 1, n, k], T2: f32[a, 1, n, c]",
                   "attention(T0, T1, T2)"});
  forms.push_back({"attention with a bias", "T0: f32[b, m, k], T1: f32[b, n, k], T2: f32[b, n, c], T3: f32[m, n]",
                   "attention(T0, T1, T2, bias=T3)"});
  forms.push_back({"attention with a mask and a scale",
                   "T0: f32[b, m, k], T1: f32[b, n, k], T2: f32[b, n, c], T3: bool[b, m, n]",
                   "attention(T0, T1, T2, mask=T3, scale=0.5)"});
  forms.push_back({"softmax", "T0: f32[a, b, c]", "softmax(T0)"});
  forms.push_back({"softmax of the middle axis", "T0: f32[a, b, c]", "softmax(T0, axis=1)"});
  forms.push_back({"log_softmax", "T0: f32[a, b]", "log_softmax(T0)"});
  forms.push_back({"layer_norm", "T0: f32[a, b, c], T1: f32[c], T2: f32[c]", "layer_norm(T0, T1, T2)"});
  forms.push_back({"rms_norm", "T0: f32[a, b, c], T1: f32[c]", "rms_norm(T0, T1)"});
  forms.push_back(
      {"group_norm", "T0: f32[a, 4, c], T1: f32[4], T2: f32[4]", "group_norm(T0, groups=2, weight=T1, bias=T2)"});
  forms.push_back({"batch_norm_inference", "T0: f32[a, b, c], T1: f32[b], T2: f32[b]",
                   "batch_norm_inference(T0, mean=T1, var=exp(T2))"});
  forms.push_back({"gelu", "T0: f32[a, b]", "gelu(T0)"});
  forms.push_back({"rope", "T0: f32[a, b, 4], T1: f32[b, 4], T2: f32[b, 4]", "rope(T0, T1, T2)"});
  forms.push_back({"cross_entropy", "T0: f32[a, b], T1: i64[a]", "cross_entropy(T0, T1, reduction=\"each\")"});
  forms.push_back(
      {"mlp", "T0: f32[m, k], T1: f32[k, n], T2: f32[n], T3: f32[n, c]", "matmul(relu(add(matmul(T0, T1), T2)), T3)"});
  forms.push_back({"batched mlp", "T0: f32[b, m, k], T1: f32[b, k, n], T2: f32[n], T3: f32[b, n, c]",
                   "matmul(relu(add(matmul(T0, T1), T2)), T3)"});
  forms.push_back({"rand", "T0: f32[a, b]", "rand(shape=[a, b], seed=1, offset=2)"});
  forms.push_back({"dropout", "T0: f32[a, b]", "dropout(T0, p=0.5, seed=1, offset=2)", "T10"});
}

// Composites of several results, gradients and random numbers.
void addMoreComposites(std::vector<OpForm>& forms) {
  const std::string rows = "T0: f32[a, c], T1: f32[a, c]";
  forms.push_back({"var_mean", "T0: f32[a, b, c]", "var_mean(T0, axes=[1])", "T10"});
  forms.push_back({"welford", "T0: f32[a, b, c]", "welford(T0, axes=[2])", "T10, T11"});
  forms.push_back({"log_sum_exp", "T0: f32[a, b, c]", "log_sum_exp(T0, axis=1)"});
  forms.push_back({"softmax_backward", rows, "softmax_backward(T0, T1)"});
  forms.push_back({"log_softmax_backward", rows, "log_softmax_backward(T0, T1)"});
  forms.push_back({"gelu_backward", rows, "gelu_backward(T0, T1)"});
  forms.push_back({"silu_backward", rows, "silu_backward(T0, T1)"});
  forms.push_back({"softplus", "T0: f32[a, b]", "softplus(T0)"});
  forms.push_back({"leaky_relu", "T0: f32[a, b]", "leaky_relu(T0)"});
  forms.push_back({"layer_norm_backward", rows + ", T2: f32[a, 1], T3: f32[a, 1], T4: f32[c]",
                   "layer_norm_backward(T0, T1, T2, T3, T4)", "T10, T11"});
  forms.push_back(
      {"rms_norm_backward", rows + ", T2: f32[a, 1], T3: f32[c]", "rms_norm_backward(T0, T1, T2, T3)", "T10"});
  forms.push_back({"batch_norm", "T0: f32[a, b, c], T1: f32[b], T2: f32[b]", "batch_norm(T0, T1, T2)", "T10, T11"});
  forms.push_back({"rope_backward", "T0: f32[a, b, 4], T1: f32[b, 4], T2: f32[b, 4]", "rope_backward(T0, T1, T2)"});
  forms.push_back({"dropout_backward", "T0: f32[a, b], T1: bool[a, b]", "dropout_backward(T0, T1, p=0.5)"});
  forms.push_back({"uniform", "T0: f32[a, b]", "uniform(shape=[a, b], seed=1, offset=2)"});
  forms.push_back({"uniform of bf16", "T0: f32[a, b]", "uniform(shape=[a, b], seed=1, offset=2, dtype=bf16)"});
  forms.push_back({"normal", "T0: f32[a, b]", "normal(shape=[a, b], seed=1, offset=2)"});
  forms.push_back(
      {"broadcast_in_dim", "T0: f32[a, c], T1: f32[b]", "exp(broadcast_in_dim(T0, shape=[a, b, c], axes=[0, 2]))"});
  forms.push_back({"unsqueeze", "T0: f32[a, c]", "unsqueeze(T0, axis=1)"});
}

// One operand read in two ways, by one op or by ops of one loop.
void addSharedOperands(std::vector<OpForm>& forms) {
  forms.push_back({"a tensor + its transpose", "T0: f32[a, a]", "add(T0, permute(T0, order=[1, 0]))"});
  forms.push_back({"a tensor x itself", "T0: f32[m, m]", "matmul(T0, T0)"});
  forms.push_back({"batched, a tensor x itself", "T0: f32[b, m, m]", "matmul(T0, T0)"});
  forms.push_back({"a tensor x its transpose", "T0: f32[m, k]", "linear(T0, T0)"});
  forms.push_back({"rows and columns of a tensor", "T0: f32[m, k], T1: f32[k, m], T2: f32[m, k]",
                   "add(matmul(T0, T1), linear(T2, T0))"});
  forms.push_back({"a tensor x itself, behind an op", "T0: f32[m, m]", "matmul(exp(neg(T0)), exp(neg(T0)))"});
  forms.push_back({"a tensor + its sums", "T0: f32[a, a]", "add(T0, sum(T0, axes=[1]))"});
  forms.push_back({"a product + its transpose", "T0: f32[b, m, k], T1: f32[b, k, m]",
                   "add(matmul(T0, T1), permute(matmul(T0, T1), order=[0, 2, 1]))"});
}

std::string sizesText(const std::map<char, int64_t>& sizes, const std::string& used) {
  std::string text;
  for (const auto& [symbol, size] : sizes) {
    if (used.find(symbol) != std::string::npos)
      text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", symbol, size);
  }
  return text.empty() ? "" : "sizes { " + text + " }\n";
}

// The letters that are symbols: what stands alone in brackets.
std::string symbolsOf(const std::string& signature) {
  std::string symbols;
  for (size_t i = 1; i + 1 < signature.size(); ++i) {
    const auto isNamePart = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
    if (std::islower(static_cast<unsigned char>(signature[i])) == 0) continue;
    if (isNamePart(signature[i - 1]) || isNamePart(signature[i + 1])) continue;
    symbols += signature[i];
  }
  return symbols;
}

std::string withNumbers(std::string text, const std::map<char, int64_t>& sizes) {
  std::string result;
  const auto isNamePart = [&](size_t i) {
    return i < text.size() && (std::isalnum(static_cast<unsigned char>(text[i])) != 0 || text[i] == '_');
  };
  for (size_t i = 0; i < text.size(); ++i) {
    const auto size = sizes.find(text[i]);
    const bool is_symbol = size != sizes.end() && (i == 0 || !isNamePart(i - 1)) && !isNamePart(i + 1);
    result += is_symbol ? std::to_string(size->second) : std::string(1, text[i]);
  }
  return result;
}

}  // namespace

const std::vector<OpForm>& opForms() {
  static const std::vector<OpForm> forms = [] {
    std::vector<OpForm> all;
    for (auto* add : {addProducts, addPointwise, addMovement, addReductions, addIndexing, addComposites,
                      addMoreComposites, addSharedOperands})
      add(all);
    return all;
  }();
  return forms;
}

std::vector<StreamMark> streamMarks(int64_t rank) {
  using Form = StreamMark::Form;
  std::vector<StreamMark> marks;
  for (const bool propagates : {false, true}) {
    for (int64_t axis = 0; axis < rank; ++axis) {
      marks.push_back({.form = Form::Index, .axis = axis, .propagates = propagates});
      for (const int64_t factor : {1, 2, 3})
        marks.push_back({.form = Form::Split, .axis = axis, .factor = factor, .propagates = propagates});
      for (const int64_t factor : {1, 2, 3})
        marks.push_back({.form = Form::OuterSplit, .axis = axis, .factor = factor, .propagates = propagates});
      marks.push_back({.form = Form::InnerPart, .axis = axis, .propagates = propagates});
      for (int64_t inner = 0; inner < rank; ++inner) {
        if (inner != axis)
          marks.push_back({.form = Form::Merge, .axis = axis, .inner = inner, .propagates = propagates});
      }
    }
  }
  return marks;
}

std::string toString(StreamMark::Form form) {
  switch (form) {
    case StreamMark::Form::Index: return "index";
    case StreamMark::Form::Split: return "split";
    case StreamMark::Form::OuterSplit: return "outer split";
    case StreamMark::Form::InnerPart: return "inner part";
    case StreamMark::Form::Merge: return "merge";
  }
  return "";
}

std::string scheduleOf(const StreamMark& mark, int64_t rank, const std::string& tensor) {
  int64_t axis = mark.axis;
  std::string text;
  switch (mark.form) {
    case StreamMark::Form::Index: break;
    case StreamMark::Form::Split:
      text = fmt::format("split({}, axis={}, factor={}) ", tensor, axis, mark.factor);
      break;
    case StreamMark::Form::OuterSplit:
      text = fmt::format("split({}, axis={}, factor={}, inner_split=false) ", tensor, axis, mark.factor);
      break;
    case StreamMark::Form::InnerPart:
      text = fmt::format("split({}, axis={}, factor={}) ", tensor, axis++, mark.factor);
      break;
    case StreamMark::Form::Merge: {
      std::vector<int64_t> order = {mark.axis, mark.inner};
      for (int64_t other = 0; other < rank; ++other) {
        if (other != mark.axis && other != mark.inner) order.push_back(other);
      }
      if (mark.inner != mark.axis + 1) {
        text = fmt::format("reorder({}, order=[{}]) ", tensor, joined(order));
        axis = 0;
      }
      text += fmt::format("merge({}, axis={}) ", tensor, axis);
      break;
    }
  }
  text += fmt::format("parallelize({}, axis={}, type=Stream)", tensor, axis);
  return mark.propagates ? fmt::format("{} propagate({})", text, tensor) : text;
}

std::string textOf(const OpForm& form, const std::map<char, int64_t>& sizes, Extents extents,
                   const std::string& schedule) {
  const std::string results = form.rest.empty() ? "T9" : "T9, " + form.rest;
  const std::string given = form.also_given.empty() ? results : results + ", " + form.also_given;
  std::string program = fmt::format("fusion f({}) -> {} {{\n  {} = {}{}\n}}\n", form.signature, given, results,
                                    form.statement, form.behind);
  if (extents == Extents::Numbers)
    program = withNumbers(std::move(program), sizes);
  else
    program += sizesText(sizes, symbolsOf(form.signature));
  return schedule.empty() ? program : program + "schedule { " + schedule + " }\n";
}

}  // namespace tokamak
