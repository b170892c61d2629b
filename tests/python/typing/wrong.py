"""Uses that a type checker reports: each line that ends with its kind of error."""
from tokamak import DataType, FusionDefinition, Scalar, Tensor

fd = FusionDefinition()
x = fd.define_tensor([-1, 8])
n = fd.define_scalar(DataType.Int)
fd.ops.softmax(x, axes=1)  # call-arg
fd.ops.softmax(3)  # arg-type
fd.ops.sum(x, dims="0")  # arg-type
fd.ops.frobnicate(x)  # attr-defined
fd.ops.topk(x)  # attr-defined
fd.ops.add("x", x)  # call-overload
fd.ops.cat(x)  # arg-type
fd.ops.full([n], 1.0, "float")  # arg-type
fd.ops.permute(x, [0.5, 1])  # list-item
fd.define_tensor("ab")  # arg-type
fd.define_tensor([-1], dtype=float)  # call-overload
fd.add_output(n)  # arg-type
fd.execute(x)  # arg-type
fd.sched.split(x, 0, factor="2")  # arg-type
scalar: Scalar = n * x  # assignment
tensor: Tensor = n + 1  # assignment
x + "a"  # operator
count: int = fd.ops.shape(x).at(0)  # assignment
