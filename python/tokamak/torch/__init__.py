"""tokamak in torch: torch.compile(module, backend="tokamak").

    import torch, tokamak.torch

    compiled = torch.compile(module, backend="tokamak")

What a graph has that tokamak does not compile runs in torch, in between: `reports` says what, and why.
"""
from ._backend import backend, reports
from ._partition import Report

__all__ = ["Report", "backend", "reports"]
