"""Uses that a type checker takes."""
from typing import Any

import numpy as np

import tokamak
from tokamak import DataType, FusionDefinition, ParallelType, Scalar, Tensor

with FusionDefinition(id=3) as fd:
    x: Tensor = fd.define_tensor([-1, 8], contiguity=[True, True], dtype=DataType.Float)
    y = fd.define_tensor(sizes=[4, 8], strides=[8, 1], static_sizes=True)
    n: Scalar = fd.define_scalar(DataType.Int)
    two: Scalar = n + n * 2 - np.int64(1)
    scaled: Tensor = n * x + 1.5 - y / two
    total: Tensor = fd.ops.sum(fd.ops.add(scaled, 1), dims=[0, 1], keepdim=True)
    mean: Tensor = fd.ops.var_mean(x, 1)[1]
    masked: Tensor = fd.ops.where(x > 0, fd.ops.softmax(x), -0.5)
    number: Scalar = fd.ops.maximum(n, 3)
    same: Scalar = fd.ops.cast(n, DataType.Double)
    padded: Tensor = fd.ops.pad(x, [0, n, 1, 1], value=0)
    wide: Tensor = fd.ops.full([n, 8], 1.0, DataType.Half)
    size: Scalar = x.size(1)
    part: Tensor = x[1:, ..., None][0, n] + x[None, np.int64(1)]
    fd.add_output(masked, stride_order=[0, 1])
    fd.add_output(total)
fd.sched.split(masked, 0, 128)
copy: Tensor = fd.sched.cache_after(x)
fd.sched.parallelize(copy, 0, ParallelType.block_x)
outputs: list[Any] = fd.execute([np.ones((4, 8)), 3], device="cpu")
text: str = fd.fusion_ir()
try:
    fd.validate([], [], rtol=1e-3)
except tokamak.BindError as error:
    code: str = error.code

mesh = tokamak.DeviceMesh([[0, 1], [2, 3]])
fd.sched._set_device_mesh(masked, mesh)
ranks: list[tokamak.Communicator] = tokamak.Communicator.local(2, timeout=1.5)
executor = tokamak.MultiDeviceExecutor(fd, ranks[0], streams=2)
parts: list[Any] = executor.gather(executor.run(executor.shard([np.ones(3)]), number=0))
sharding: tokamak.Sharding | None = executor.output_shardings[0]
gpu: tokamak.Communicator = tokamak.Communicator.nccl(lambda own: [own], rank=0, size=1, device="cuda:0")
copies: tokamak.Communicator = tokamak.Communicator.peer(lambda own: [own], rank=0, size=1, device="cuda:0")
told: list[bytes] = gpu.exchange(b"")
try:
    executor([])
except tokamak.CommunicationError as error:
    rank: int = error.rank
    fault: str = error.fault
