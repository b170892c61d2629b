"""One step of Adam, which writes the parameter and both moments in place."""
import torch
from tokamak.nvfuser import FusionDefinition

device = "cuda" if torch.cuda.is_available() else "cpu"

lr, beta1, beta2, eps = 1e-2, 0.9, 0.999, 1e-8


def adam_fusion(fd: FusionDefinition, tensors) -> None:
    param, grad, exp_avg, exp_avg_sq, step = [fd.from_pytorch(each) for each in tensors]
    one = fd.define_scalar(1.0)
    b1, b2 = fd.define_scalar(beta1), fd.define_scalar(beta2)
    new_step = fd.ops.add(step, one)
    m = fd.ops.add(fd.ops.mul(exp_avg, b1), fd.ops.mul(grad, fd.ops.sub(one, b1)))
    squared = fd.ops.mul(grad, grad)
    v = fd.ops.add(fd.ops.mul(exp_avg_sq, b2), fd.ops.mul(squared, fd.ops.sub(one, b2)))
    correction1 = fd.ops.sub(one, fd.ops.pow(b1, new_step))
    correction2 = fd.ops.sub(one, fd.ops.pow(b2, new_step))
    correction1 = fd.ops.broadcast(correction1, [True, True])
    correction2 = fd.ops.broadcast(correction2, [True, True])
    denominator = fd.ops.add(fd.ops.sqrt(fd.ops.div(v, correction2)), fd.define_scalar(eps))
    update = fd.ops.div(fd.ops.div(m, correction1), denominator)
    p = fd.ops.sub(param, fd.ops.mul(update, fd.define_scalar(lr)))
    fd.add_output(p, param)
    fd.add_output(m, alias_input=exp_avg)
    fd.add_output(v, alias_input=exp_avg_sq)
    fd.add_output(new_step, step)


reference = torch.nn.Parameter(torch.randn(64, 128, device=device))
optimizer = torch.optim.Adam([reference], lr=lr, betas=(beta1, beta2), eps=eps)
param = reference.detach().clone()
exp_avg, exp_avg_sq = torch.zeros_like(param), torch.zeros_like(param)
step = torch.zeros((), device=device)

with FusionDefinition() as fd:
    adam_fusion(fd, [param, param, exp_avg, exp_avg_sq, step])

for _ in range(3):
    grad = torch.randn_like(param)
    reference.grad = grad.clone()
    optimizer.step()
    assert len(fd.execute([param, grad, exp_avg, exp_avg_sq, step])) == 0
    torch.testing.assert_close(param, reference.detach(), rtol=1e-5, atol=1e-5)
state = optimizer.state[reference]
torch.testing.assert_close(exp_avg, state["exp_avg"], rtol=1e-5, atol=1e-6)
torch.testing.assert_close(exp_avg_sq, state["exp_avg_sq"], rtol=1e-5, atol=1e-6)
assert step.item() == 3
