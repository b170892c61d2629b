#include "ir/text/foreign_names.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "ir/text/scalar_text.h"

namespace tokamak {

namespace {

struct ForeignName {
  std::string_view name;
  std::string_view call;  // what to write here
};

// Sorted by name. NumPy, PyTorch (torch and torch.nn.functional), JAX (jax.numpy and jax.lax).
constexpr ForeignName kForeignNames[] = {
    {"absolute", "abs(x)"},
    {"addmm", "bias + x @ y"},
    {"all", "min(x, axis=0)"},
    {"amax", "max(x, axis=0)"},
    {"amin", "min(x, axis=0)"},
    {"any", "max(x, axis=0)"},
    {"arange", "iota(length, start, step)"},
    {"arccos", "acos(x)"},
    {"arccosh", "acosh(x)"},
    {"arcsin", "asin(x)"},
    {"arcsinh", "asinh(x)"},
    {"arctan", "atan(x)"},
    {"arctan2", "atan2(x, y)"},
    {"arctanh", "atanh(x)"},
    {"asarray", "set(x)"},
    {"astype", "cast(x, dtype=f32)"},
    {"average", "mean(x, axis=0)"},
    {"baddbmm", "bias + x @ y"},
    {"batchnorm", "batch_norm(x, weight, bias)"},
    {"bernoulli", "lt(rand(shape, seed, offset), 0.5)"},
    {"bfloat16", "cast(x, dtype=bf16)"},
    {"bitwise_invert", "bitwise_not(x)"},
    {"bmm", "matmul(x, y)"},
    {"broadcast_to", "expand(x, shape)"},
    {"cbrt", "sign(x) * pow(abs(x), 0.3333333333333333)"},
    {"chunk", "x[0:2, :]"},
    {"clip", "clamp(x, low, high)"},
    {"clone", "set(x)"},
    {"concat", "cat([x, y], axis=0)"},
    {"concatenate", "cat([x, y], axis=0)"},
    {"cond", "where(mask, x, y)"},
    {"constant_pad_nd", "pad(x, widths=[1, 1, 0, 0], value=0.0)"},
    {"contiguous", "set(x)"},
    {"convert_element_type", "cast(x, dtype=f32)"},
    {"copy", "set(x)"},
    {"copysign", "where(signbit(y), -abs(x), abs(x))"},
    {"count_nonzero", "sum(cast(ne(x, 0.0), dtype=i64))"},
    {"crossentropy", "cross_entropy(logits, target)"},
    {"deg2rad", "x * 0.017453292519943295"},
    {"divide", "div(x, y)"},
    {"dot", "matmul(x, y)"},
    {"dot_general", "matmul(x, y)"},
    {"double", "cast(x, dtype=f64)"},
    {"dynamic_slice", "slice(x, axis=0, start=0, stop=4)"},
    {"einsum", "matmul(x, y)"},
    {"elu", "where(x > 0.0, x, expm1(x))"},
    {"empty", "full(shape, value)"},
    {"equal", "eq(x, y)"},
    {"erf_inv", "erfinv(x)"},
    {"expand_dims", "unsqueeze(x, axis=0)"},
    {"expit", "sigmoid(x)"},
    {"eye", "eq(unsqueeze(iota(n), axis=1), unsqueeze(iota(n), axis=0))"},
    {"fabs", "abs(x)"},
    {"fill", "full(shape, value)"},
    {"fix", "trunc(x)"},
    {"flatten", "reshape(x, shape)"},
    {"flip", "index_select(x, axis=0, index=iota(4, start=3, step=-1))"},
    {"float", "cast(x, dtype=f32)"},
    {"float16", "cast(x, dtype=f16)"},
    {"float32", "cast(x, dtype=f32)"},
    {"float64", "cast(x, dtype=f64)"},
    {"float_power", "pow(x, y)"},
    {"floor_divide", "floor(truediv(x, y))"},
    {"full_like", "full(shape, value)"},
    {"gammaln", "lgamma(x)"},
    {"geglu", "gelu(x) * y"},
    {"glu", "x[:, 0:2] * sigmoid(x[:, 2:4])"},
    {"greater", "gt(x, y)"},
    {"greater_equal", "ge(x, y)"},
    {"groupnorm", "group_norm(x, groups)"},
    {"half", "cast(x, dtype=f16)"},
    {"hardsigmoid", "clamp(x / 6.0 + 0.5, 0.0, 1.0)"},
    {"hardswish", "x * clamp(x / 6.0 + 0.5, 0.0, 1.0)"},
    {"hardtanh", "clamp(x, -1.0, 1.0)"},
    {"hstack", "cat([x, y], axis=-1)"},
    {"hypot", "sqrt(x * x + y * y)"},
    {"inner", "matmul(x, y)"},
    {"int", "cast(x, dtype=i64)"},
    {"int32", "cast(x, dtype=i32)"},
    {"int64", "cast(x, dtype=i64)"},
    {"integer_pow", "pow(x, y)"},
    {"inverse", "reciprocal(x)"},
    {"invert", "bitwise_not(x)"},
    {"l1_loss", "mean(abs(x - y))"},
    {"layernorm", "layer_norm(x, weight, bias)"},
    {"ldexp", "x * exp2(y)"},
    {"leakyrelu", "leaky_relu(x)"},
    {"left_shift", "bitwise_left_shift(x, y)"},
    {"less", "lt(x, y)"},
    {"less_equal", "le(x, y)"},
    {"linspace", "iota(length, start, step)"},
    {"log_sigmoid", "-softplus(-x)"},
    {"logaddexp", "maximum(x, y) + log1p(exp(-abs(x - y)))"},
    {"logical_xor", "ne(x, y)"},
    {"logistic", "sigmoid(x)"},
    {"logit", "log(x / (1.0 - x))"},
    {"logsigmoid", "-softplus(-x)"},
    {"logsoftmax", "log_softmax(x, axis=-1)"},
    {"logsumexp", "log_sum_exp(x, axis=-1)"},
    {"long", "cast(x, dtype=i64)"},
    {"masked_fill", "where(mask, value, x)"},
    {"matrix_transpose", "transpose(x)"},
    {"matvec", "matmul(x, y)"},
    {"mish", "x * tanh(softplus(x))"},
    {"mm", "matmul(x, y)"},
    {"moveaxis", "permute(x, order)"},
    {"movedim", "permute(x, order)"},
    {"mse_loss", "mean((x - y) * (x - y))"},
    {"mul_", "mul(x, y)"},
    {"multiply", "mul(x, y)"},
    {"mv", "matmul(x, y)"},
    {"nan_to_num", "where(isnan(x), 0.0, x)"},
    {"narrow", "slice(x, axis=0, start=0, stop=4)"},
    {"negative", "neg(x)"},
    {"nll_loss", "cross_entropy(logits, target)"},
    {"norm", "sqrt(sum(x * x))"},
    {"not_equal", "ne(x, y)"},
    {"one_hot", "eq(unsqueeze(x, axis=-1), iota(classes))"},
    {"ones_like", "ones(shape)"},
    {"outer", "unsqueeze(x, axis=1) * unsqueeze(y, axis=0)"},
    {"permute_dims", "permute(x, order)"},
    {"positive", "set(x)"},
    {"power", "pow(x, y)"},
    {"product", "prod(x, axis=0)"},
    {"ptp", "max(x) - min(x)"},
    {"rad2deg", "x * 57.29577951308232"},
    {"randint", "cast(uniform(shape, low=0.0, high=10.0, seed=seed, offset=offset), dtype=i64)"},
    {"randn", "normal(shape, seed=seed, offset=offset)"},
    {"randn_like", "normal(shape, seed=seed, offset=offset)"},
    {"ravel", "reshape(x, shape)"},
    {"reduce_max", "max(x, axis=0)"},
    {"reduce_mean", "mean(x, axis=0)"},
    {"reduce_min", "min(x, axis=0)"},
    {"reduce_prod", "prod(x, axis=0)"},
    {"reduce_sum", "sum(x, axis=0)"},
    {"relu6", "clamp(x, 0.0, 6.0)"},
    {"rem", "fmod(x, y)"},
    {"repeat", "expand(x, shape)"},
    {"right_shift", "bitwise_right_shift(x, y)"},
    {"rint", "round(x)"},
    {"rms", "rms_norm(x)"},
    {"rmsnorm", "rms_norm(x, weight)"},
    {"roll", "cat([x[2:4, :], x[0:2, :]], axis=0)"},
    {"rsub", "sub(y, x)"},
    {"scaled_dot_product_attention", "attention(q, k, v)"},
    {"sdpa", "attention(q, k, v)"},
    {"select_n", "where(mask, x, y)"},
    {"selu", "1.0507009873554805 * where(x > 0.0, x, 1.6732632423543772 * expm1(x))"},
    {"sgn", "sign(x)"},
    {"softmin", "softmax(-x, axis=-1)"},
    {"softsign", "x / (1.0 + abs(x))"},
    {"split", "x[0:2, :]"},
    {"sqr", "mul(x, x)"},
    {"square", "mul(x, x)"},
    {"stack", "cat([unsqueeze(x, axis=0), unsqueeze(y, axis=0)], axis=0)"},
    {"std", "sqrt(var(x, axis=0))"},
    {"subtract", "sub(x, y)"},
    {"swapaxes", "transpose(x, a, b)"},
    {"swapdims", "transpose(x, a, b)"},
    {"swiglu", "silu(x) * y"},
    {"swish", "silu(x)"},
    {"t", "transpose(x)"},
    {"take", "index_select(x, axis, index)"},
    {"take_along_dim", "take_along_axis(x, index, axis)"},
    {"tensordot", "matmul(x, y)"},
    {"tile", "expand(x, shape)"},
    {"to", "cast(x, dtype=f32)"},
    {"tril", "where(mask, x, 0.0)"},
    {"triu", "where(mask, x, 0.0)"},
    {"true_div", "truediv(x, y)"},
    {"true_divide", "truediv(x, y)"},
    {"type_as", "cast(x, dtype=f32)"},
    {"unbind", "x[0, :]"},
    {"unstack", "x[0, :]"},
    {"variance", "var(x, axis=0)"},
    {"vdot", "matmul(x, y)"},
    {"view", "reshape(x, shape)"},
    {"vstack", "cat([x, y], axis=0)"},
    {"xor", "bitwise_xor(x, y)"},
    {"zeros_like", "zeros(shape)"},
};
static_assert(std::ranges::is_sorted(kForeignNames, {}, &ForeignName::name));

// Sorted. Functions of theirs that nothing here does and no short expression makes; a name of ours that is spelled
// like one would mislead.
constexpr std::string_view kAbsentNames[] = {"argmax",
                                             "argmin",
                                             "argsort",
                                             "avg_pool2d",
                                             "bincount",
                                             "conv",
                                             "conv1d",
                                             "conv2d",
                                             "conv3d",
                                             "conv_general_dilated",
                                             "conv_transpose2d",
                                             "cummax",
                                             "cumprod",
                                             "cumsum",
                                             "fft",
                                             "fori_loop",
                                             "grad",
                                             "histogram",
                                             "index_add",
                                             "index_put",
                                             "index_reduce",
                                             "inv",
                                             "isin",
                                             "kthvalue",
                                             "lstm",
                                             "lu",
                                             "max_pool2d",
                                             "median",
                                             "meshgrid",
                                             "mode",
                                             "multinomial",
                                             "nonzero",
                                             "qr",
                                             "quantile",
                                             "rfft",
                                             "scan",
                                             "scatter",
                                             "scatter_add",
                                             "scatter_reduce",
                                             "searchsorted",
                                             "segment_sum",
                                             "solve",
                                             "sort",
                                             "svd",
                                             "topk",
                                             "unique",
                                             "vmap",
                                             "while_loop"};
static_assert(std::ranges::is_sorted(kAbsentNames));

}  // namespace

std::string suggestionForCall(std::string_view name, const std::vector<std::string_view>& candidates) {
  const auto* found = std::ranges::lower_bound(kForeignNames, name, {}, &ForeignName::name);
  const bool is_foreign = found != std::end(kForeignNames) && found->name == name;
  if (is_foreign) return fmt::format("; did you mean '{}'?", found->call);
  if (std::ranges::binary_search(kAbsentNames, name)) return fmt::format("; nothing here does what '{}' does", name);
  return suggestion(name, candidates);
}

std::string suggestionForType(std::string_view name, const std::vector<std::string_view>& candidates) {
  constexpr std::pair<std::string_view, std::string_view> kTypes[] = {
      {"float32", "f32"}, {"float", "f32"}, {"float64", "f64"},   {"double", "f64"},
      {"float16", "f16"}, {"half", "f16"},  {"bfloat16", "bf16"}, {"int32", "i32"},
      {"int", "i64"},     {"int64", "i64"}, {"long", "i64"},      {"bool_", "bool"}};
  for (const auto& [foreign, ours] : kTypes) {
    if (foreign == name) return fmt::format("; did you mean '{}'?", ours);
  }
  return suggestion(name, candidates);
}

std::string suggestionForMethod(std::string_view name, const std::vector<std::string_view>& candidates) {
  if (name == "T" || name == "mT") return "; did you mean 'transpose(x)'?";
  const bool is_ours = std::ranges::find(candidates, name) != candidates.end();
  return is_ours ? fmt::format("; did you mean '{}(x)'?", name) : suggestionForCall(name, {});
}

std::vector<std::string_view> foreignNames() {
  std::vector<std::string_view> names;
  for (const ForeignName& row : kForeignNames) names.push_back(row.name);
  return names;
}

}  // namespace tokamak
