"""SGD with momentum: parameters and momenta are updated in place, and nothing is returned but the norm."""
import torch
from tokamak.nvfuser import FusionDefinition, DataType

device = "cuda" if torch.cuda.is_available() else "cpu"

shapes = [(8, 16), (16,)]
parameters = [torch.randn(shape, device=device) for shape in shapes]
momenta = [torch.zeros(shape, device=device) for shape in shapes]


def step(fd: FusionDefinition) -> None:
    T_parameters = [fd.from_pytorch(each) for each in parameters]
    T_momenta = [fd.from_pytorch(each) for each in momenta]
    T_gradients = [fd.from_pytorch(each) for each in parameters]
    S_rate = fd.define_scalar(dtype=DataType.Double)
    S_momentum = fd.define_scalar(0.9, dtype=DataType.Double)
    squares = []
    for parameter, momentum, gradient in zip(T_parameters, T_momenta, T_gradients):
        moved = fd.ops.add(fd.ops.mul(momentum, S_momentum), gradient)
        fd.add_output(moved, momentum)
        fd.add_output(fd.ops.sub(parameter, fd.ops.mul(moved, S_rate)), parameter)
        axes = list(range(gradient.ndim))
        squares.append(fd.ops.sum(fd.ops.mul(gradient, gradient), dims=axes))
    fd.add_output(fd.ops.sqrt(fd.ops.add(squares[0], squares[1])))


with FusionDefinition() as fd:
    step(fd)

references = [torch.nn.Parameter(each.clone()) for each in parameters]
optimizer = torch.optim.SGD(references, lr=0.1, momentum=0.9)
for rate in (0.1, 0.1, 0.05):
    gradients = [torch.randn(shape, device=device) for shape in shapes]
    for reference, gradient in zip(references, gradients):
        reference.grad = gradient.clone()
    optimizer.param_groups[0]["lr"] = rate
    optimizer.step()
    (norm,) = fd.execute([*parameters, *momenta, *gradients, rate])
    torch.testing.assert_close(norm, sum((each**2).sum() for each in gradients).sqrt(), rtol=1e-5, atol=1e-5)
    for ours, reference in zip(parameters, references):
        torch.testing.assert_close(ours, reference.detach(), rtol=1e-5, atol=1e-6)
