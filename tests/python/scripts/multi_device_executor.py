"""A host program on one device: an axis that is marked as stream is dealt out to streams."""
import torch
from tokamak.nvfuser import (
    Communicator,
    FusionDefinition,
    MultiDeviceExecutor,
    MultiDeviceExecutorParams,
    ParallelType,
)

device = "cuda" if torch.cuda.is_available() else "cpu"

communicator = Communicator.instance()
assert communicator.size() == 1 and communicator.rank() == 0

x = torch.randn(8, 32, 64, device=device)
w = torch.randn(64, 48, device=device)

with FusionDefinition() as fd:
    t0 = fd.from_pytorch(x)
    t1 = fd.from_pytorch(w)
    t2 = fd.ops.matmul(t0, t1)
    fd.add_output(t2)
    t2.axis(0).parallelize(ParallelType.stream)

params = MultiDeviceExecutorParams()
params.number_of_streams = 2
params.use_allocation_cache = True
executor = MultiDeviceExecutor(fd.fusion, params)
for _ in range(3):
    (out,) = executor.run([x, w])
    torch.testing.assert_close(out, x @ w, rtol=1e-4, atol=1e-4)
