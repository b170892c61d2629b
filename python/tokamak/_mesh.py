"""Meshes: the devices that a tensor is spread over."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ._arguments import integer, listed, plain, shown


class DeviceMesh:
    """The ranks of a job that a tensor is spread over.

    DeviceMesh(4): ranks 0 to 3. DeviceMesh([0, 2]): these. DeviceMesh([[0, 1], [2, 3]]): in two dimensions, of which
    ParallelType.mesh_x deals an axis out over the last one, mesh_y over the one before, mesh_z over the one before
    that. Raises ValueError for no ranks, for one twice, and for rows of several lengths."""

    __slots__ = ("_devices", "_shape")

    def __init__(self, devices: Any) -> None:
        devices = devices.tolist() if hasattr(devices, "tolist") else plain(devices)
        if hasattr(type(devices), "__index__"):
            count = integer("DeviceMesh: a number of devices", devices)
            if not 1 <= count <= _MOST_DEVICES:
                raise ValueError(f"DeviceMesh: {count} devices; legal are 1 to {_MOST_DEVICES}")
            devices = range(count)
        self._shape, self._devices = _flat(listed("DeviceMesh", devices))
        if len(set(self._devices)) != len(self._devices):
            repeated = next(each for each in self._devices if self._devices.count(each) > 1)
            raise ValueError(f"DeviceMesh: device {repeated} is named twice; each has one place in a mesh")
        if min(self._devices) < 0:
            raise ValueError(f"DeviceMesh: device {min(self._devices)} is negative; ranks are numbered from 0 on")

    @property
    def size(self) -> int:
        """How many devices."""
        return len(self._devices)

    @property
    def shape(self) -> list[int]:
        """How many devices along each dimension of the mesh."""
        return list(self._shape)

    @property
    def devices(self) -> list[int]:
        """The devices, the last dimension running fastest."""
        return list(self._devices)

    def shard_tensor(self, tensor: Any, axis: int = 0, device_id: int = 0) -> Any:
        """The part of an array that a device has where this axis is dealt out over all devices of the mesh: the n
        indices in chunks of n / size, rounded up. A dense copy, or the array where that is all of it. Raises ValueError
        for an axis or a device that is not there."""
        rank = len(tensor.shape)
        axis = integer("shard_tensor: axis", axis)
        if not -rank <= axis < rank:
            raise ValueError(f"shard_tensor: axis {axis} of an array with {rank} axes")
        device = integer("shard_tensor: device_id", device_id)
        if device not in self._devices:
            raise ValueError(f"shard_tensor: device {device} is none of {self}")
        chunk = -(-tensor.shape[axis] // self.size)
        part = [(0, size) for size in tensor.shape]
        start = min(self._devices.index(device) * chunk, tensor.shape[axis])
        part[axis] = start, min(chunk, tensor.shape[axis] - start)
        return cut(tensor, part)

    def _text(self):
        """As texts of programs have it: mesh((0, 1), (2, 3))."""
        return "mesh" + _nested(self._shape, iter(self._devices))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DeviceMesh) and (self._shape, self._devices) == (other._shape, other._devices)

    def __hash__(self) -> int:
        return hash((tuple(self._shape), tuple(self._devices)))

    def __repr__(self) -> str:
        return f"DeviceMesh({_lists(self._shape, iter(self._devices))})"


_MOST_DEVICES = 1 << 20


def cut(array: Any, part: Sequence[tuple[int, int]]) -> Any:
    """Per axis the first index and how many: a dense copy of this part of an array; the array where that is all."""
    if all(start == 0 and extent == size for (start, extent), size in zip(part, array.shape)):
        return array
    taken = array[tuple(slice(start, start + extent) for start, extent in part)]
    if hasattr(taken, "clone"):
        return taken.clone()  # torch's, dense in the order of its strides
    return taken.copy(order="K") if type(taken).__module__.partition(".")[0] == "numpy" else taken


def _flat(devices):
    """The shape, and the numbers, of a list of lists."""
    if not devices:
        raise ValueError("DeviceMesh: no devices; legal is one at least, as in DeviceMesh([0])")
    if not any(isinstance(plain(each), (list, tuple)) for each in devices):
        return [len(devices)], [integer("DeviceMesh: a device", each) for each in devices]
    rows = [_flat(listed("DeviceMesh: a row", each)) for each in devices]
    if any(shape != rows[0][0] for shape, _ in rows):
        raise ValueError("DeviceMesh: rows of several lengths; all rows of a mesh have the same")
    return [len(rows), *rows[0][0]], [each for _, row in rows for each in row]


def _nested(shape, devices):
    inner = [str(next(devices)) if len(shape) == 1 else _nested(shape[1:], devices) for _ in range(shape[0])]
    return f"({', '.join(inner)})"


def _lists(shape, devices):
    return [next(devices) if len(shape) == 1 else _lists(shape[1:], devices) for _ in range(shape[0])]


def mesh_of(shape: list[int], devices: list[int]) -> DeviceMesh:
    """A mesh of this shape. Raises as DeviceMesh()."""
    return DeviceMesh(_lists(shape, iter(devices)))


class Sharding:
    """How a tensor is divided among the devices of a mesh."""

    __slots__ = ("_axes", "_mesh")

    def __init__(self, mesh: DeviceMesh, axes: dict[int, int] | None = None) -> None:
        """`axes`: per axis of the tensor that is dealt out, the dimension of the mesh."""
        if not isinstance(mesh, DeviceMesh):
            raise TypeError(f"Sharding: a DeviceMesh is legal, not {shown(mesh)}")
        self._mesh = mesh
        self._axes = dict(axes or {})

    @property
    def mesh(self) -> DeviceMesh:
        """The devices."""
        return self._mesh

    @property
    def axes(self) -> dict[int, int]:
        """Per axis of the tensor that is dealt out, the dimension of the mesh."""
        return dict(self._axes)

    def axis_sharded_on(self, parallel_type: Any) -> int:
        """The axis that ParallelType.mesh_x, mesh_y or mesh_z deals out: -1 for none."""
        from .schedule import ParallelType

        if not isinstance(parallel_type, ParallelType):
            raise TypeError(f"axis_sharded_on: a ParallelType is legal, not {shown(parallel_type)}")
        places = [ParallelType.mesh_x, ParallelType.mesh_y, ParallelType.mesh_z]
        if parallel_type not in places:
            return -1
        dimension = len(self._mesh.shape) - 1 - places.index(parallel_type)
        return next((axis for axis, of in self._axes.items() if of == dimension), -1)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sharding) and (self._mesh, self._axes) == (other._mesh, other._axes)

    def __hash__(self) -> int:
        return hash((self._mesh, tuple(sorted(self._axes.items()))))

    def __repr__(self) -> str:
        return f"Sharding({self._mesh}, {self._axes})"


def sharding_from(told: Any) -> Sharding | None:
    """As the native side tells it."""
    if told is None:
        return None
    shape, devices, axes = told
    return Sharding(mesh_of(shape, devices), dict(axes))
