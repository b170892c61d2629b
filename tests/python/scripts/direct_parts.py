"""The parts of a definition: its fusion, what executes it, its kernels, and its calls as Python."""
import torch
import tokamak.nvfuser as nvfuser_direct
from tokamak.nvfuser import FusionDefinition

device = "cuda" if torch.cuda.is_available() else "cpu"

inputs = [torch.randn(4, 128, device=device)]

with FusionDefinition() as fd:
    tv0 = fd.from_pytorch(inputs[0])
    tv1 = fd.ops.exp(tv0)
    tv2 = fd.ops.sum(tv1, dims=[-1])
    fd.add_output(tv2)
    fd.fusion.print_math()

assert len(fd.fusion.inputs()) == 1 and len(fd.fusion.outputs()) == 1 and len(fd.fusion.vals()) == 3
assert not fd.fec.is_compiled(inputs)
(out,) = fd.fec.execute(inputs)
torch.testing.assert_close(out, inputs[0].exp().sum(-1), rtol=1e-4, atol=1e-4)
assert fd.fec.is_compiled(inputs) and fd.fec.fusion() == fd.fusion
assert "__global__" in fd.fec.get_cuda_kernel(inputs)
assert fd.fec.get_scheduled_ir(inputs) == fd.fec.get_most_recent_scheduled_ir()

kernel = nvfuser_direct.KernelExecutor()
kernel.compile(fd.fusion, inputs)
torch.testing.assert_close(kernel.run(inputs)[0], out)

source = nvfuser_direct.translate_fusion(fd.fusion)
namespace = {"FusionDefinition": FusionDefinition, "DataType": nvfuser_direct.DataType}
exec(source, namespace)
with FusionDefinition() as again:
    namespace["fusion"](again)
assert again.fusion == fd.fusion
torch.testing.assert_close(again.execute(inputs)[0], out)
torch.testing.assert_close(nvfuser_direct.clone(fd).execute(inputs)[0], out)
