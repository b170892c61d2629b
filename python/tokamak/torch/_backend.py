"""The backend of torch.compile."""
import collections
import functools

import torch
from torch._decomp import core_aten_decompositions, get_decompositions
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.aot_autograd import make_boxed_func
from torch.fx.experimental.proxy_tensor import disable_proxy_modes_tracing

from .. import numpy as tnp
from .._fuse import Fused
from .._traced_array import TracedArray
from .._types import data_type_of
from ..definition import compute_tensor_descriptor
from ._aten import IGNORED, ROWS
from ._partition import divide, tensors_of

reports = collections.deque(maxlen=64)  # of the graphs that were compiled last, newest last

# Operators that stay as they are: their rows say more than what they would become, and the decomposition of attention
# leaves out what its gradient needs.
_KEPT = frozenset("""addcdiv addcmul addmm constant_pad_nd elu embedding gelu gelu_backward hardtanh leaky_relu
leaky_relu_backward lerp linalg_vector_norm _log_softmax _log_softmax_backward_data logsumexp masked_fill
native_batch_norm_backward _native_batch_norm_legit_functional native_group_norm native_layer_norm
native_layer_norm_backward _scaled_dot_product_flash_attention_for_cpu select_backward
sigmoid_backward silu silu_backward slice_backward _softmax _softmax_backward_data softplus stack std tanh_backward
threshold_backward tril triu var_mean""".split())


# What torch leaves whole, and is better in parts that fuse with what is around.
_DIVIDED = """cudnn_batch_norm cudnn_batch_norm_backward native_batch_norm _native_batch_norm_legit
_native_batch_norm_legit_no_training native_dropout native_group_norm_backward""".split()

# Operators whose results have sizes that torch would make new symbols for if it was asked twice.
_UNCHECKED = frozenset([torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape])


@functools.cache
def _decompositions():
    table = {**core_aten_decompositions(),
             **get_decompositions([getattr(torch.ops.aten, name) for name in _DIVIDED])}
    return {op: function if _UNCHECKED.intersection(op.tags) or op._schema.is_mutable else _type_checked(op, function)
            for op, function in table.items() if op._schema.name.removeprefix("aten::") not in _KEPT}


def _type_checked(op, decomposition):
    """The decomposition, which leaves the operator whole where its results would have other types than the operator's:
    torch's own of select_scatter promotes, for one."""

    @functools.wraps(decomposition)
    def checked(*args, **kwargs):
        results = decomposition(*args, **kwargs)
        with disable_proxy_modes_tracing():
            wanted = op(*args, **kwargs)
        return results if _types_of(results) == _types_of(wanted) else NotImplemented

    return checked


def _types_of(results):
    return [each.dtype for each in tensors_of(results)]


def backend(graph_module, example_inputs, **options):
    """Compiles a graph for torch.compile(backend="tokamak"), forwards and backwards.

    `options`: products="torch" (matrix products run in torch, the default) or "tokamak"."""
    takes_products = _products_of(options)

    def compiler(name):
        return lambda graph_module, example_inputs: make_boxed_func(_fused(graph_module, takes_products, name))

    return aot_autograd(fw_compiler=compiler("forward"), bw_compiler=compiler("backward"),
                        inference_compiler=compiler("fused"),
                        decompositions=_decompositions())(graph_module, example_inputs)


def _products_of(options):
    options = dict(options.get("options") or options)
    products = options.pop("products", "torch")
    options.pop("mode", None)
    if options:
        raise ValueError(f"backend tokamak has no option {', '.join(options)}; legal is products")
    if products not in ("torch", "tokamak"):
        raise ValueError(f"products={products!r}; legal are 'torch' and 'tokamak'")
    return products == "tokamak"


def _fused(graph_module, takes_products, prefix):
    """`prefix`: of the programs' names, which profiles tell."""
    graph_module.graph.eliminate_dead_code()
    divided, report = divide(graph_module, _device_of(graph_module), takes_products)
    reports.append(report)
    for name, module in list(divided.named_children()):
        if name.startswith("fused_"):
            setattr(divided, name, _Fusion(module, name.replace("fused", prefix)))
    divided.recompile()
    return divided


def _device_of(graph_module):
    """Where the work is: on the first GPU that some tensor is on, else on the processor."""
    devices = [each.device for node in graph_module.graph.nodes for each in tensors_of(node.meta.get("val"))]
    return next((each for each in devices if each.type == "cuda"), torch.device("cpu"))


class _Fusion(torch.nn.Module):
    """A part of a graph, as one fused function."""

    def __init__(self, module, name):
        super().__init__()
        self._graph_module = module
        outputs = next(node for node in reversed(module.graph.nodes) if node.op == "output").args[0]
        self._outputs = [outputs] if isinstance(outputs, torch.fx.Node) else list(outputs)
        self._is_single = isinstance(outputs, torch.fx.Node)

        def run(*args):
            return self._traced(args)

        run.__name__ = run.__qualname__ = name
        # Sizes are symbols where they are for torch.
        is_static = all(isinstance(size, int) for node in module.graph.nodes
                        for each in tensors_of(node.meta.get("val")) for size in each.shape)
        self._fused = Fused(run, static_sizes=is_static, stride_orders=self._stride_orders())

    def forward(self, *args):
        return self._fused(*args)

    def _stride_orders(self):
        """Of outputs, as torch has promised them to whoever comes next."""
        values = [node.meta["val"] for node in self._outputs]
        return [_stride_order(each) if isinstance(each, torch.Tensor) else None for each in values if each is not None]

    def _traced(self, args):
        values, given = {}, iter(args)
        for node in self._graph_module.graph.nodes:
            if node.op == "placeholder":
                values[node] = next(given)
            elif node.op == "get_attr":
                values[node] = tnp.asarray(getattr(self._graph_module, node.target))
            elif node.op == "call_function":
                values[node] = _call(node, values)
        results = [values[node] for node in self._outputs]
        return results[0] if self._is_single else tuple(results)


def _call(node, values):
    args = torch.fx.node.map_arg(node.args, values.__getitem__)
    kwargs = torch.fx.node.map_arg(node.kwargs, values.__getitem__)
    if not isinstance(node.target, torch._ops.OpOverload):
        return node.target(*args, **kwargs)  # of numbers, or of a tuple
    kwargs = {name: value for name, value in kwargs.items() if name not in IGNORED}
    return _typed(ROWS[str(node.target)](*_plain(args), **_plain(kwargs)), node.meta["val"])


def _plain(arguments):
    """Arguments with tokamak's types for torch's."""
    return torch.fx.node.map_aggregate(
        arguments, lambda value: data_type_of(value) if isinstance(value, torch.dtype) else value)


def _typed(result, value):
    """The result in the types that torch's propagation has found."""
    if isinstance(result, (list, tuple)):
        return tuple(_typed(each, one) for each, one in zip(result, value))
    return tnp.astype(result, data_type_of(value.dtype)) if isinstance(result, TracedArray) else result


def _stride_order(tensor):
    """The rank of each axis in memory, 0 the fastest, in the call that is compiled."""
    return compute_tensor_descriptor(*([each if isinstance(each, int) else each.node.hint for each in numbers]
                                       for numbers in (tensor.shape, tensor.stride())))[1]
