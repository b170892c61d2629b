"""Meshes of devices, of which there is one yet."""
from __future__ import annotations

from typing import Any

from ._arguments import integer, listed, plain, shown


class DeviceMesh:
    """DeviceMesh(1) or DeviceMesh([0]): one device. Raises NotImplementedError for several."""

    __slots__ = ("_devices",)

    def __init__(self, devices: Any) -> None:
        devices = devices.tolist() if hasattr(devices, "tolist") else plain(devices)
        if hasattr(type(devices), "__index__"):
            count = integer("DeviceMesh: a number of devices", devices)
            if count < 1:
                raise ValueError(f"DeviceMesh: {count} devices; legal is 1")
            devices = range(min(count, 2))
        numbers = [integer("DeviceMesh: a device", each) for each in listed("DeviceMesh", devices)]
        if not numbers:
            raise ValueError("DeviceMesh: no devices; legal is one, as in DeviceMesh([0])")
        if len(numbers) > 1:
            raise NotImplementedError("DeviceMesh: several devices come later, with communication between them; "
                                      "DeviceMesh([0]) is one device")
        self._devices = numbers

    @property
    def size(self) -> int:
        """How many devices."""
        return len(self._devices)

    @property
    def shape(self) -> list[int]:
        """How many devices along each axis of the mesh."""
        return [len(self._devices)]

    def shard_tensor(self, tensor: Any, axis: int = 0, device_id: int = 0) -> Any:
        """The part of an array that a device has: all of it. Raises ValueError for a device that is not there."""
        rank = len(tensor.shape)
        axis = integer("shard_tensor: axis", axis)
        if not -rank <= axis < rank:
            raise ValueError(f"shard_tensor: axis {axis} of an array with {rank} axes")
        if integer("shard_tensor: device_id", device_id) not in self._devices:
            raise ValueError(f"shard_tensor: device {shown(device_id)} is none of {self}")
        return tensor

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DeviceMesh) and self._devices == other._devices

    def __hash__(self) -> int:
        return hash(tuple(self._devices))

    def __repr__(self) -> str:
        return f"DeviceMesh({self._devices})"
