// The rows of the callables that are composites.
#include "define/activations.h"
#include "define/attention.h"
#include "define/callable_row.h"
#include "define/channel_norm.h"
#include "define/cross_entropy.h"
#include "define/normalization.h"
#include "define/rope.h"
#include "define/softmax.h"

namespace tokamak {

namespace {

using defining::F;
using defining::kNone;
using defining::Maybe;
using defining::required;
using defining::row;
using defining::T;

std::vector<Callable> plainComposites() {
  return {
      row(
          "softmax", {required("in"), {"axis", int64_t{-1}}}, +[](F, T in, int64_t axis) { return softmax(in, axis); }),
      row(
          "log_softmax", {required("in"), {"axis", int64_t{-1}}},
          +[](F, T in, int64_t axis) { return log_softmax(in, axis); }),
      row(
          "layer_norm", {required("in"), {"weight", kNone}, {"bias", kNone}, {"eps", 1e-5}, {"norm_axes", int64_t{1}}},
          +[](F, T in, T weight, T bias, double eps, int64_t axes) {
            return layer_norm(in, weight, bias, {eps, axes});
          }),
      row(
          "rms_norm", {required("in"), {"weight", kNone}, {"eps", 1e-5}, {"norm_axes", int64_t{1}}},
          +[](F, T in, T weight, double eps, int64_t axes) { return rms_norm(in, weight, {eps, axes}); }),
      row(
          "log_sum_exp", {required("in"), {"axis", int64_t{-1}}},
          +[](F, T in, int64_t axis) { return log_sum_exp(in, axis); }),
      row(
          "rope", {required("in"), required("cos"), required("sin")},
          +[](F, T in, T cos, T sin) { return rope(in, cos, sin); }),
      row(
          "gelu", {required("in")}, +[](F, T in) { return gelu(in); }),
      row(
          "gelu_tanh", {required("in")}, +[](F, T in) { return gelu_tanh(in); }),
      row(
          "leaky_relu", {required("in"), {"slope", 0.01}},
          +[](F, T in, double slope) { return leaky_relu(in, slope); }),
      row(
          "softplus", {required("in"), {"beta", 1.0}, {"threshold", 20.0}},
          +[](F, T in, double beta, double threshold) { return softplus(in, beta, threshold); }),
      row(
          "attention",
          {required("q"),
           required("k"),
           required("v"),
           {"is_causal", false},
           {"scale", kNone},
           {"bias", kNone},
           {"mask", kNone},
           {"logsumexp", false}},
          +[](F, T q, T k, T v, bool is_causal, Maybe<double> scale, T bias, T mask, bool logsumexp) {
            const AttentionOptions options{is_causal, scale, bias, mask};
            if (!logsumexp) return std::vector<T>{attention(q, k, v, options)};
            const Attention both = attention_with_logsumexp(q, k, v, options);
            return std::vector<T>{both.out, both.logsumexp};
          }),
  };
}

std::vector<T> compositeResults(const NormGradients& all) { return {all.in, all.weight, all.bias}; }

std::vector<Callable> gradients() {
  const auto ofActivation = [](std::string_view name, T (*function)(F, T, T)) {
    return row(name, {required("grad"), required("in")}, function);
  };
  const auto ofSoftmax = [](std::string_view name, T (*function)(F, T, T, int64_t)) {
    return row(name, {required("grad"), required("out"), {"axis", int64_t{-1}}}, function);
  };
  return {
      ofActivation("gelu_backward", [](F, T grad, T in) { return gelu_backward(grad, in); }),
      ofActivation("gelu_tanh_backward", [](F, T grad, T in) { return gelu_tanh_backward(grad, in); }),
      ofActivation("silu_backward", [](F, T grad, T in) { return silu_backward(grad, in); }),
      ofSoftmax("softmax_backward", [](F, T grad, T out, int64_t axis) { return softmax_backward(grad, out, axis); }),
      ofSoftmax("log_softmax_backward",
                [](F, T grad, T out, int64_t axis) { return log_softmax_backward(grad, out, axis); }),
      row(
          "layer_norm_backward",
          {required("grad"),
           required("in"),
           required("mean"),
           required("rstd"),
           {"weight", kNone},
           {"norm_axes", int64_t{1}}},
          +[](F, T grad, T in, T mean, T rstd, T weight, int64_t axes) {
            return compositeResults(layer_norm_backward(grad, in, mean, rstd, weight, {.norm_axes = axes}));
          }),
      row(
          "rms_norm_backward",
          {required("grad"), required("in"), required("rstd"), {"weight", kNone}, {"norm_axes", int64_t{1}}},
          +[](F, T grad, T in, T rstd, T weight, int64_t axes) {
            return compositeResults(rms_norm_backward(grad, in, rstd, weight, {.norm_axes = axes}));
          }),
      row(
          "batch_norm_backward",
          {required("grad"),
           required("in"),
           required("mean"),
           required("rstd"),
           {"weight", kNone},
           {"axis", int64_t{1}}},
          +[](F, T grad, T in, T mean, T rstd, T weight, int64_t axis) {
            return compositeResults(batch_norm_backward(grad, in, mean, rstd, weight, {.axis = axis}));
          }),
      row(
          "rope_backward", {required("grad"), required("cos"), required("sin")},
          +[](F, T grad, T cos, T sin) { return rope_backward(grad, cos, sin); }),
  };
}

std::vector<Callable> channelNorms() {
  return {
      row(
          "batch_norm",
          {required("in"),
           {"weight", kNone},
           {"bias", kNone},
           {"running_mean", kNone},
           {"running_var", kNone},
           {"eps", 1e-5},
           {"momentum", 0.1},
           {"axis", int64_t{1}}},
          +[](F, T in, T weight, T bias, T running_mean, T running_var, double eps, double momentum, int64_t axis) {
            const BatchNorm norm = batch_norm(in, weight, bias, running_mean, running_var, {eps, momentum, axis});
            return std::vector<T>{norm.out, norm.mean, norm.rstd, norm.running_mean, norm.running_var};
          }),
      row(
          "batch_norm_inference",
          {required("in"),
           required("mean"),
           required("var"),
           {"weight", kNone},
           {"bias", kNone},
           {"eps", 1e-5},
           {"axis", int64_t{1}}},
          +[](F, T in, T mean, T var, T weight, T bias, double eps, int64_t axis) {
            return batch_norm_inference(in, mean, var, weight, bias, {.eps = eps, .axis = axis});
          }),
      row(
          "group_norm", {required("in"), required("groups"), {"weight", kNone}, {"bias", kNone}, {"eps", 1e-5}},
          +[](F, T in, int64_t groups, T weight, T bias, double eps) {
            return group_norm(in, groups, weight, bias, eps);
          }),
  };
}

CrossEntropyOptions lossOptions(std::string_view call, const std::string& reduction, int64_t ignore_index) {
  const auto kind = enumFromName<LossReduction>(reduction);
  TK_REQUIRE(kind.has_value(), Definition,
             "{}: no reduction is called '{}'; there are mean, sum and each (one per target)", call, reduction);
  return {*kind, ignore_index};
}

std::vector<Callable> losses() {
  const Parameter reduction{"reduction", std::string("mean")};
  const Parameter ignored{"ignore_index", int64_t{-100}};
  return {
      row(
          "cross_entropy", {required("logits"), required("target"), reduction, ignored},
          +[](F, T logits, T target, const std::string& kind, int64_t ignore_index) {
            return cross_entropy(logits, target, lossOptions("cross_entropy", kind, ignore_index));
          }),
      row(
          "cross_entropy_backward",
          {required("grad"), required("logits"), required("target"), required("log_sum_exp"), reduction, ignored},
          +[](F, T grad, T logits, T target, T log_sum_exp, const std::string& kind, int64_t ignore_index) {
            return cross_entropy_backward(grad, logits, target, log_sum_exp,
                                          lossOptions("cross_entropy_backward", kind, ignore_index));
          }),
  };
}

}  // namespace

std::vector<Callable> compositeCallables() {
  std::vector<Callable> rows = plainComposites();
  for (auto* family : {gradients, channelNorms, losses}) {
    for (Callable& callable : family()) rows.push_back(std::move(callable));
  }
  return rows;
}

}  // namespace tokamak
