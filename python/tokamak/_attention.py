"""Attention as scripts for nvFuser call it: forward with its four results, and backward of products."""
import math

from . import _tokamak
from ._arguments import flag, real, shown
from ._types import DataType
from ._values import Scalar


def constant_of(op, name, value, fallback, kind):
    """A flag or a number that is known while the definition is made. Raises NotImplementedError for one that is not."""
    if value is None:
        return fallback
    if isinstance(value, Scalar):
        value = value._value.constant
        if value is None:
            raise NotImplementedError(f"ops.{op}: {name} is a constant; one that calls give comes later")
    return kind(f"ops.{op}: {name}", value)


def require_no_dropout(op, dropout_p):
    """Raises NotImplementedError for a probability other than 0."""
    probability = constant_of(op, "dropout_p", dropout_p, 0.0, real)
    if probability != 0:
        raise NotImplementedError(f"ops.{op}: dropout_p is {shown(probability)}: dropout inside attention comes later; "
                                  "0 is legal, and ops.dropout on what attention gives")


def require_heads(op, **tensors):
    """Raises DefinitionError unless all tensors have four axes: batch, head, sequence, embedding."""
    for name, tensor in tensors.items():
        if tensor.ndim != 4:
            raise _tokamak.DefinitionError(f"{op}: {name} has {tensor.ndim} axes; legal are 4: batch, head, sequence "
                                           "and embedding")


def forward(ops, query, key, value, dropout_p, is_causal, scale, bias, mask):
    """The output, logarithms of sums per query (Float), and seed and offset of a dropout, which are 0."""
    require_no_dropout("sdpfa_fwd", dropout_p)
    require_heads("sdpfa_fwd", query=query, key=key, value=value)
    named = {"is_causal": constant_of("sdpfa_fwd", "is_causal", is_causal, False, flag), "logsumexp": True}
    named |= {name: given for name, given in (("scale", scale), ("bias", bias), ("mask", mask)) if given is not None}
    output, logarithms = ops._definition._call("attention", [query, key, value], named)
    seed, offset = (ops.full([], 0, DataType.Int) for _ in range(2))
    return output, logarithms, seed, offset


def backward(ops, grad_output, query, key, value, output, logsumexp, dropout_p, is_causal, scale):
    """The gradients of query, key and value, by five products. Scores are in memory, as products are no part of
    kernels: sequence times sequence elements per head."""
    require_no_dropout("sdpfa_bwd", dropout_p)
    require_heads("sdpfa_bwd", grad_output=grad_output, query=query, key=key, value=value, output=output)
    is_causal = constant_of("sdpfa_bwd", "is_causal", is_causal, False, flag)
    wide = DataType.Double if query.dtype is DataType.Double else DataType.Float
    narrow = query.dtype

    def product(left, right):
        return ops._definition._call("matmul", [left, right], {"dtype": wide})

    def turned(tensor):
        return ops.permute(tensor, [0, 1, 3, 2])

    def per_query(tensor):
        return ops.broadcast(tensor, [False, False, False, True])

    if scale is None:
        scale = ops.rsqrt(ops.cast(ops.size(query, 3), wide))
    weights = ops.exp(ops.sub(ops.mul(product(query, turned(key)), scale), per_query(ops.cast(logsumexp, wide))))
    # Of a query that sees no key the logarithm is -infinity, and nothing has a gradient.
    is_hidden = per_query(ops.eq(logsumexp, -math.inf))
    if is_causal:
        is_hidden = ops.logical_or(is_hidden, _later_keys(ops, query, key))
    weights = ops.where(is_hidden, 0.0, weights)
    grad_value = product(turned(ops.cast(weights, narrow)), grad_output)
    own = ops.sum(ops.mul(ops.cast(grad_output, wide), ops.cast(output, wide)), [3])
    grad_scores = ops.mul(ops.mul(weights, ops.sub(product(grad_output, turned(value)), per_query(own))), scale)
    grad_scores = ops.cast(grad_scores, narrow)
    grads = product(grad_scores, key), product(turned(grad_scores), query), grad_value
    return tuple(ops.cast(each, narrow) for each in grads)


def _later_keys(ops, query, key):
    """Which keys stand behind their query: of one batch and head."""
    keys = ops.broadcast(ops.iota(ops.size(key, 2)), [True, True, True, False])
    return ops.gt(keys, ops.broadcast(ops.iota(ops.size(query, 2)), [True, True, False, True]))
