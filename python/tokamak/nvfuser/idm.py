"""Graphs of axes, which the library does not show."""
from .refused import refused_class

_AXES = "which axes are one is not shown; fd.sched.to_string(tensor) shows the loops of a tensor"

IdModel = refused_class("idm.IdModel", _AXES, __name__)
ValGraph = refused_class("idm.ValGraph", _AXES, __name__)
