#include "define/op_reference.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "base/immortal.h"
#include "ir/fields.h"
#include "symbolic/functions.h"

namespace tokamak {

namespace {

// Composites, and structured ops whose calls are written by hand. Sorted by name.
constexpr OpReference kWritten[] = {
    {"attention",
     "softmax(q k^T * scale + bias) v per batch and head, 0 for queries that the mask hides every key from; scores and "
     "softmax are f32 or f64, the scale is 1 / sqrt(head size) unless given; logsumexp=true gives the logarithms, too",
     "q: f32[2, 4, 8, 16], k: f32[2, 4, 8, 16], v: f32[2, 4, 8, 16]", "y = attention(q, k, v, is_causal=true)"},
    {"batch_norm",
     "normalises each channel over all other axes; gives result, mean and 1 / deviation, and running statistics "
     "that are given, moved on",
     "x: f32[8, 4, 6], weight: f32[4], bias: f32[4]", "y, mean, rstd = batch_norm(x, weight, bias)"},
    {"batch_norm_backward", "the gradients of batch_norm's input, weight and bias",
     "grad: f32[8, 4, 6], x: f32[8, 4, 6], mean: f32[4], rstd: f32[4], weight: f32[4]",
     "grad_x, grad_weight, grad_bias = batch_norm_backward(grad, x, mean, rstd, weight)"},
    {"batch_norm_inference", "normalises each channel with known statistics",
     "x: f32[8, 4, 6], mean: f32[4], variance: f32[4]", "y = batch_norm_inference(x, mean, abs(variance))"},
    {"broadcast", "puts axes of one element where a flag is true", "x: f32[4]",
     "y = broadcast(x, flags=[true, false])"},
    {"broadcast_in_dim", "axis i of the input becomes axis axes[i] of the result, expanded to this shape", "x: f32[4]",
     "y = broadcast_in_dim(x, shape=[3, 4], axes=[1])"},
    {"cast", "the elements in another type", "x: f32[4]", "y = cast(x, dtype=bf16)"},
    {"cat", "tensors one after the other along an axis", "x: f32[4, 8], z: f32[2, 8]", "y = cat([x, z], axis=0)"},
    {"cross_entropy", "the mean of -log_softmax(logits) at the targets", "logits: f32[4, 10], target: i64[4]",
     "loss = cross_entropy(logits, target)"},
    {"cross_entropy_backward", "the gradient of cross_entropy's logits, from their log_sum_exp",
     "grad: f32[], logits: f32[4, 10], target: i64[4]",
     "y = cross_entropy_backward(grad, logits, target, log_sum_exp(logits))"},
    {"dropout", "zero with probability p, else x / (1 - p); and the mask of what was kept",
     "x: f32[4, 8], seed: i64, offset: i64", "y, mask = dropout(x, 0.1, seed, offset)"},
    {"dropout_backward", "the gradient of dropout's input", "grad: f32[4, 8], mask: bool[4, 8]",
     "y = dropout_backward(grad, mask, 0.1)"},
    {"embedding",
     "row index[...] of the weight for each position; with max_norm longer rows are scaled down to that norm",
     "weight: f32[10, 8], index: i64[4]", "y = embedding(weight, index)"},
    {"expand", "axes of one element show this many", "x: f32[4, 1]", "y = expand(x, shape=[4, 8])"},
    {"full", "a tensor of one value", "value: f32", "y = full([4, 8], value)"},
    {"gather", "out[..i..] = in[..index[..i..]..] along an axis, as torch.gather", "x: f32[4, 8], index: i64[4, 3]",
     "y = gather(x, axis=1, index=index)"},
    {"gelu", "x times the normal distribution function of x", "x: f32[4, 8]", "y = gelu(x)"},
    {"gelu_backward", "the gradient of gelu's input", "grad: f32[4], x: f32[4]", "y = gelu_backward(grad, x)"},
    {"gelu_tanh", "gelu by its formula with tanh", "x: f32[4, 8]", "y = gelu_tanh(x)"},
    {"gelu_tanh_backward", "the gradient of gelu_tanh's input", "grad: f32[4], x: f32[4]",
     "y = gelu_tanh_backward(grad, x)"},
    {"group_norm", "normalises groups of channels (axis 1) over all axes behind them",
     "x: f32[2, 8, 6], weight: f32[8], bias: f32[8]", "y = group_norm(x, groups=4, weight=weight, bias=bias)"},
    {"index_select", "the slices of an axis at these positions", "x: f32[4, 8], index: i64[3]",
     "y = index_select(x, axis=0, index=index)"},
    {"iota", "start, start + step, ...: length elements", "length: i64", "y = iota(length, start=1, step=2)"},
    {"layer_norm", "normalises over the last norm_axes axes, then scales by the weight and adds the bias",
     "x: f32[4, 8], weight: f32[8], bias: f32[8]", "y = layer_norm(x, weight, bias)"},
    {"layer_norm_backward", "the gradients of layer_norm's input, weight and bias",
     "grad: f32[4, 8], x: f32[4, 8], mean: f32[4, 1], rstd: f32[4, 1], weight: f32[8]",
     "grad_x, grad_weight, grad_bias = layer_norm_backward(grad, x, mean, rstd, weight)"},
    {"leaky_relu", "x, but slope * x where x is negative", "x: f32[4, 8]", "y = leaky_relu(x, slope=0.1)"},
    {"log_softmax", "the logarithm of softmax", "x: f32[4, 8]", "y = log_softmax(x, axis=-1)"},
    {"log_softmax_backward", "the gradient of log_softmax's input, from its result", "grad: f32[4, 8], out: f32[4, 8]",
     "y = log_softmax_backward(grad, out)"},
    {"log_sum_exp", "the logarithm of the sum of exp(x) along an axis, without overflow", "x: f32[4, 8]",
     "y = log_sum_exp(x, axis=-1)"},
    {"max", "the largest element along axes, all by default; NaN if one is", "x: f32[4, 8]", "y = max(x, axis=1)"},
    {"mean", "the mean along axes, all by default", "x: f32[4, 8]", "y = mean(x, axis=1, keepdim=true)"},
    {"min", "the smallest element along axes, all by default; NaN if one is", "x: f32[4, 8]", "y = min(x, axis=1)"},
    {"normal", "normally distributed numbers of a floating type (f32 by default)", "seed: i64, offset: i64",
     "y = normal([4, 8], mean=1.0, std=0.5, seed=seed, offset=offset, dtype=f16)"},
    {"ones", "a tensor of ones", "n: i64", "y = ones([n, 8])"},
    {"pad", "puts a value around: two widths for each axis from the first one on, before and behind it", "x: f32[4, 8]",
     "y = pad(x, widths=[1, 2, 0, 0], value=0.5)"},
    {"permute", "axis i of the result is axis order[i] of the input", "x: f32[4, 8, 2]",
     "y = permute(x, order=[2, 0, 1])"},
    {"prod", "the product along axes, all by default", "x: f32[4, 8]", "y = prod(x, axis=1)"},
    {"rand", "uniform f32 numbers from 0 to 1, without 1", "seed: i64, offset: i64", "y = rand([4, 8], seed, offset)"},
    {"rand_like", "the same in the shape of a tensor", "x: f32[4, 8], seed: i64, offset: i64",
     "y = rand_like(x, seed, offset)"},
    {"random_bits", "random words of 32 bits", "seed: i64, offset: i64", "y = random_bits([4, 8], seed, offset)"},
    {"reshape", "the same elements in row-major order under another shape", "x: f32[4, 8]", "y = reshape(x, [8, 4])"},
    {"rms_norm", "divides by the root of the mean square over the last norm_axes axes, then scales by the weight",
     "x: f32[4, 8], weight: f32[8]", "y = rms_norm(x, weight)"},
    {"rms_norm_backward", "the gradients of rms_norm's input and weight",
     "grad: f32[4, 8], x: f32[4, 8], rstd: f32[4, 1], weight: f32[8]",
     "grad_x, grad_weight = rms_norm_backward(grad, x, rstd, weight)"},
    {"rope", "rotary position embedding: turns the halves of the last axis by these angles",
     "x: f32[2, 4, 8], cos: f32[4, 8], sin: f32[4, 8]", "y = rope(x, cos, sin)"},
    {"rope_backward", "the gradient of rope's input", "grad: f32[2, 4, 8], cos: f32[4, 8], sin: f32[4, 8]",
     "y = rope_backward(grad, cos, sin)"},
    {"select", "one position of an axis, which goes away; also x[2]", "x: f32[4, 8]", "y = select(x, axis=0, index=2)"},
    {"set", "a copy", "x: f32[4, 8]", "y = set(x)"},
    {"silu_backward", "the gradient of silu's input", "grad: f32[4], x: f32[4]", "y = silu_backward(grad, x)"},
    {"slice", "a range of an axis, or of all by lists of starts, stops and steps; also x[:, 1:7:2]", "x: f32[4, 8]",
     "y = slice(x, axis=1, start=1, stop=7, step=2)"},
    {"softmax", "exp(x) divided by its sum along an axis", "x: f32[4, 8]", "y = softmax(x, axis=-1)"},
    {"softmax_backward", "the gradient of softmax's input, from its result", "grad: f32[4, 8], out: f32[4, 8]",
     "y = softmax_backward(grad, out)"},
    {"softplus", "log(1 + exp(beta * x)) / beta; x where beta * x is above the threshold", "x: f32[4, 8]",
     "y = softplus(x)"},
    {"squeeze", "takes axes of one element away", "x: f32[4, 1]", "y = squeeze(x, axis=1)"},
    {"sum", "the sum along axes, all by default", "x: f32[4, 8]", "y = sum(x, axis=1)"},
    {"take_along_axis", "out[..i..] = in[..index[..i..]..] along an axis; the other axes are the same size",
     "x: f32[4, 8], index: i64[4, 3]", "y = take_along_axis(x, index, axis=1)"},
    {"transpose", "exchanges two axes, the last two by default", "x: f32[4, 8]", "y = transpose(x)"},
    {"uniform", "uniform numbers from low to high, without high, of a floating type (f32 by default)",
     "seed: i64, offset: i64", "y = uniform([4, 8], low=-1.0, high=1.0, seed=seed, offset=offset, dtype=bf16)"},
    {"unsqueeze", "puts an axis of one element at a position", "x: f32[4, 8]", "y = unsqueeze(x, axis=1)"},
    {"var", "the variance along axes, all by default; divided by the count less the correction", "x: f32[4, 8]",
     "y = var(x, axis=1, correction=0.0)"},
    {"var_mean", "the variance and the mean", "x: f32[4, 8]", "variance, average = var_mean(x, axis=1)"},
    {"welford", "the mean, the sum of squared differences to it, and the count", "x: f32[4, 8]",
     "average, squares, count = welford(x, axis=1)"},
    {"zeros", "a tensor of zeros", "n: i64", "y = zeros([n, 8])"},
};

// Of every function of the table and of every op whose header says what it means. Sorted by name.
std::vector<OpReference> derivedReferences() {
  std::vector<OpReference> rows;
  for (const FunctionInfo& info : allFunctions())
    rows.push_back({.name = info.name, .meaning = info.meaning, .inputs = {}, .call = {}});
  for (const OpKind kind : allOpKinds()) {
    const OpInfo& info = opInfo(kind);
    if (!info.meaning.empty()) rows.push_back({info.name, info.meaning, info.example_inputs, info.example_call});
  }
  std::ranges::sort(rows, {}, &OpReference::name);
  return rows;
}

const OpReference* findIn(std::span<const OpReference> rows, std::string_view name) {
  const auto found = std::ranges::lower_bound(rows, name, {}, &OpReference::name);
  return found != rows.end() && found->name == name ? &*found : nullptr;
}

}  // namespace

std::span<const OpReference> writtenReferences() { return kWritten; }

const OpReference* findReference(std::string_view name) {
  static const auto& derived = *immortal(derivedReferences());
  const OpReference* written = findIn(kWritten, name);
  return written != nullptr ? written : findIn(derived, name);
}

std::vector<std::string_view> exampleResults(const OpReference& reference) {
  if (reference.call.empty()) return {"out"};
  std::string_view rest = reference.call.substr(0, reference.call.find(" = "));
  std::vector<std::string_view> names;
  while (true) {
    const size_t comma = rest.find(", ");
    names.push_back(rest.substr(0, comma));
    if (comma == std::string_view::npos) return names;
    rest.remove_prefix(comma + 2);
  }
}

std::string exampleInputs(const OpReference& reference) {
  if (!reference.inputs.empty()) return std::string(reference.inputs);
  const FunctionInfo& info = functionInfo(*functionFromName(reference.name));
  const bool is_integer = info.rule == TypeRule::Integer || info.rule == TypeRule::Bitwise;
  const std::string_view type = is_integer ? "i64" : info.rule == TypeRule::Logical ? "bool" : "f32";
  std::string inputs;
  for (int i = 0; i < info.arity; ++i) {
    const bool is_condition = info.rule == TypeRule::Choose && i == 0;
    inputs += fmt::format("{}{}: {}[4]", i == 0 ? "" : ", ", "xyzw"[i], is_condition ? "bool" : type);
  }
  return inputs;
}

std::string exampleProgram(const OpReference& reference, std::string_view inputs) {
  std::string call(reference.call);
  if (call.empty()) {
    const int arity = functionInfo(*functionFromName(reference.name)).arity;
    call = fmt::format("out = {}(x{})", reference.name, std::string_view(", y, z, w").substr(0, 3 * (arity - 1)));
  }
  const std::string outputs = call.substr(0, call.find(" = "));
  return fmt::format("fusion example({}) -> {} {{\n  {}\n}}\n", inputs, outputs, call);
}

}  // namespace tokamak
