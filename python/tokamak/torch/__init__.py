"""tokamak in torch: torch.compile(module, backend="tokamak"), and programs as operators of torch.

    import torch, tokamak.torch

    compiled = torch.compile(module, backend="tokamak")

What a graph has that tokamak does not compile runs in torch, in between: `reports` says what, and why.

    normalised = tokamak.torch.op(fd)  # one operator, for torch.compile's other backends, too
    y = normalised(x)
"""
import importlib.metadata

import torch as _torch

from ._backend import backend, reports
from ._op import op
from ._partition import Report

__all__ = ["Report", "backend", "op", "reports"]

# An installed package tells torch its backend by itself; a build folder is no package.
if not any(each.name == "tokamak" for each in importlib.metadata.entry_points(group="torch_dynamo_backends")):
    _torch._dynamo.register_backend(backend, name="tokamak")
