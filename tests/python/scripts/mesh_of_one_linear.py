"""A linear layer whose weight is sharded over a mesh, by splits of axes; the mesh has one device."""
import torch
import tokamak.nvfuser as nvfuser
from tokamak.nvfuser import DataType, FusionDefinition

device = "cuda" if torch.cuda.is_available() else "cpu"

communicator = nvfuser.multidevice.Communicator.instance()
d = communicator.size()
mesh = nvfuser.multidevice.DeviceMesh(torch.arange(d))
e = 16

with FusionDefinition() as fd:
    inp = fd.define_tensor([-1, -1, e], contiguity=True, dtype=DataType.Float)
    weight = fd.define_tensor([4 * e, e], contiguity=True, dtype=DataType.Float)
    out = fd.ops.linear(inp, weight)
    fd.add_output(out)

    for t in (inp, weight):
        t.set_device_mesh(mesh)
    weight.outer_split(0, d)
    weight.axis(0).parallelize(nvfuser.ParallelType.mesh_x)

inp_tensor = torch.randn(2, 6, e, device=device)
unsharded = torch.randn(4 * e, e, device=device)
sharded = nvfuser.multidevice.shard_tensor(unsharded, weight)
(out_tensor,) = fd.execute([inp_tensor, sharded])
torch.testing.assert_close(out_tensor, torch.nn.functional.linear(inp_tensor, unsharded), rtol=1e-4, atol=1e-4)
