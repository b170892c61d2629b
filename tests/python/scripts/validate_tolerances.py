"""Tolerances of each output, and references that the library infers by itself."""
import torch
from tokamak.nvfuser import FusionDefinition, get_val_tolerances, validate_with_auto_inferred_outputs

inputs = [torch.randn(32, 64), torch.randn(64)]

with FusionDefinition() as fd:
    t0 = fd.from_pytorch(inputs[0])
    t1 = fd.from_pytorch(inputs[1])
    t2 = fd.ops.mul(t0, t1)
    t3 = fd.ops.sum(t2, dims=[1], keepdim=True)
    t4 = fd.ops.gt(t2, t3)
    fd.add_output(t2)
    fd.add_output(t3)
    fd.add_output(t4)
fd.validate_definition()

outputs = fd.execute(inputs)
tolerances = fd.getValTolerances(inputs)
assert tolerances == get_val_tolerances(fd.fusion, inputs)
references = [inputs[0] * inputs[1], (inputs[0] * inputs[1]).sum(1, keepdim=True)]
for out, ref, (atol, rtol) in zip(outputs, references, tolerances):
    torch.testing.assert_close(out, ref, atol=atol, rtol=rtol)
validate_with_auto_inferred_outputs(fd.fusion, outputs, inputs)

outputs[1][3] += 1.0
try:
    validate_with_auto_inferred_outputs(fd.fusion, outputs, inputs)
except RuntimeError as error:
    assert "output 1" in str(error)
else:
    raise AssertionError("a wrong output passed")
