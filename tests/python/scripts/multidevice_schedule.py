"""A definition for a mesh, which has one device: what is sharded has one part."""
import torch
from tokamak.nvfuser import CommunicatorBackend, DataType, DeviceMesh, FusionDefinition, ParallelType

device = "cuda" if torch.cuda.is_available() else "cpu"

mesh = DeviceMesh(torch.arange(1))
unsharded = torch.randn(1, 4, 8, device=device)
sharded = mesh.shard_tensor(unsharded, 0, 0)


class Model(FusionDefinition):
    def definition(self):
        self.inp = self.define_tensor((1, -1, -1), contiguity=(None, True, True), dtype=DataType.Float)
        self.out = self.ops.relu(self.inp)
        self.add_output(self.out)

    def multidevice_schedule(self):
        for t in [self.inp, self.out]:
            self.sched._set_device_mesh(t, mesh)
            self.sched.parallelize(t, 0, ParallelType.mesh_x)


fd = Model(use_multidevice_executor=True, backend_type=CommunicatorBackend.nccl)
torch.testing.assert_close(fd.execute([sharded])[0], unsharded.relu())

two = DeviceMesh(range(2))
assert [two.shard_tensor(torch.arange(3), 0, each).tolist() for each in range(2)] == [[0, 1], [2]]
