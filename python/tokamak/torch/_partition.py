"""Which nodes of a graph become fusions, and why others do not."""
import operator

import torch
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from torch.fx.passes.operator_support import OperatorSupportBase

from .._types import ELEMENT_TYPES, NUMPY_NAMES
from ._aten import NUMBERS, PRODUCTS, REFUSALS, ROWS

_TYPES = frozenset(getattr(torch, NUMPY_NAMES[each.value]) for each in ELEMENT_TYPES)

# Views and constants: a fusion of nothing else would copy what torch only looks at another way.
_COMPUTES_NOTHING = frozenset(f"torch.ops.aten.{name}" for name in """alias.default as_strided.default detach.default
expand.default full.default permute.default reshape.default select.int slice.Tensor
split.Tensor split_with_sizes.default squeeze.default squeeze.dim squeeze.dims t.default transpose.int unbind.int
unsqueeze.default view.default _unsafe_view.default zeros.default ones.default scalar_tensor.default
sym_size.int sym_numel.default""".split()) | {f"_operator.{each.__name__}" for each in NUMBERS}


# What is a kernel of its own also without others: it reads its operands more than once.
ALONE = frozenset(f"aten.{name}.default" for name in """gelu_backward _log_softmax _log_softmax_backward_data logsumexp
native_batch_norm_backward _native_batch_norm_legit_functional native_group_norm native_layer_norm
native_layer_norm_backward _softmax _softmax_backward_data""".split()) | {
    "aten.sum.dim_IntList", "aten.mean.dim", "aten.var_mean.correction"}


class Report:
    """What became of a graph: `fusions`, lists of the names of operators, and `left`, pairs of an operator that runs in
    torch and the reason."""

    def __init__(self):
        self.fusions = []
        self.left = []

    def __str__(self):
        lines = [f"fusion of {len(each)}: {', '.join(each)}" for each in self.fusions]
        lines += [f"in torch: {name}, as {reason}" for name, reason in self.left]
        return "\n".join(lines)

    __repr__ = __str__


def name_of(node):
    """The operator of a node, as rows are called."""
    return str(node.target)


def tensors_of(value):
    """The tensors among a node's values."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [each for part in value for each in tensors_of(part)]
    return []


class _Support(OperatorSupportBase):
    def __init__(self, device, takes_products):
        self._device = device
        self._takes_products = takes_products
        self.reasons = {}

    def is_node_supported(self, submodules, node):
        reason = self._reason_against(node)
        if reason is not None:
            self.reasons[node] = reason
        return reason is None

    def _reason_against(self, node):
        if node.op != "call_function":
            return "it is no operator"
        if node.target is operator.getitem:
            source = node.args[0]
            return None if isinstance(source, torch.fx.Node) and self._reason_against(source) is None else (
                "what it takes from runs in torch")
        if node.target in NUMBERS:
            return None
        name = name_of(node)
        if name not in ROWS:
            return "tokamak has no such operator yet"
        if name in PRODUCTS and not self._takes_products:
            return "torch's library multiplies"
        if name in REFUSALS:
            reason = REFUSALS[name](*_shapes(node.args), **_shapes(node.kwargs))
            if reason is not None:
                return reason
        tensors = tensors_of(node.meta.get("val"))
        tensors += [each for source in node.all_input_nodes for each in tensors_of(source.meta.get("val"))]
        for each in tensors:
            if each.device != self._device:
                return f"it is on {each.device}, not on {self._device}"
            if each.dtype not in _TYPES:
                return f"{each.dtype} is no type of tokamak's"
            if each.layout is not torch.strided:
                return f"{each.layout} is no layout of tokamak's"
            if each.is_neg():
                return "its elements are the negatives of those in memory"
        return None


def _shapes(arguments):
    return torch.fx.node.map_arg(arguments, lambda node: getattr(node.meta["val"], "shape", None))


def divide(graph_module, device, takes_products):
    """The graph with fusions as modules of their own, whose names begin with fused_; and what became of it."""
    support = _Support(device, takes_products)
    partitioner = CapabilityBasedPartitioner(graph_module, support, allows_single_node_partition=True,
                                             non_compute_ops=sorted(_COMPUTES_NOTHING))
    partitions = partitioner.propose_partitions()
    partitioner.remove_bookend_non_compute_ops(partitions)
    partitions = [each for each in partitions if _is_worth_it(each)]
    _leave_views(graph_module.graph, partitions)
    report = Report()
    inside = {node for each in partitions for node in each.nodes}
    for each in partitions:
        report.fusions.append([name_of(node) for node in graph_module.graph.nodes
                               if node in each.nodes and node.target is not operator.getitem])
    for node in graph_module.graph.nodes:
        if node.op == "call_function" and node not in inside and _computes(node):
            reason = support.reasons.get(node) or "alone it is not worth a kernel"
            report.left.append((name_of(node), reason))
    return partitioner.fuse_partitions(partitions) if partitions else graph_module, report


def _leave_views(graph, partitions):
    """Leaves views that the graph gives, and what these look at, to torch: such outputs share memory, and a fusion's do
    not. A fusion that reads one has a copy of the node."""
    given = set()
    for node in reversed(graph.nodes):
        if not _is_view(node) or not any(user.op == "output" or user in given for user in node.users):
            continue
        given.add(node)
        for each in partitions:
            if node in each.nodes:
                _leave(node, each)


def _is_view(node):
    if node.target is operator.getitem:
        return _is_view(node.args[0])
    return node.op == "call_function" and getattr(node.target, "is_view", False)


def _leave(node, partition):
    del partition.nodes[node]
    readers = [user for user in node.users if user in partition.nodes]
    if readers:
        with node.graph.inserting_before(node):
            copy = node.graph.node_copy(node)
        for user in readers:
            user.replace_input_with(node, copy)
        partition.add_node(copy)


def _is_worth_it(partition):
    nodes = list(partition.nodes)
    has_tensors = any(tensors_of(source.meta.get("val")) for node in nodes for source in node.all_input_nodes
                      if source not in partition.nodes)
    computing = [each for each in nodes if _computes(each)]
    is_worth_it = len(computing) > 1 or any(name_of(each) in ALONE or _is_on_gpu(each) for each in computing)
    return has_tensors and is_worth_it


def _is_on_gpu(node):
    """Where a kernel of tokamak's costs no more than one of torch's to start."""
    return any(each.device.type == "cuda" for each in tensors_of(node.meta["val"]))


def _computes(node):
    is_of_numbers = node.target is operator.getitem or node.target in NUMBERS
    return not is_of_numbers and f"torch.ops.{name_of(node)}" not in _COMPUTES_NOTHING
