"""Writes a fusion with a reduction and an output for each elementwise function of scalars of four types:
every_scalar_function.py TOKAMAK."""

import json
import subprocess
import sys

TYPES = {"s": "bf16", "t": "bool", "u": "i32", "v": "f16"}
said = subprocess.run([sys.argv[1], "info", "--functions"], capture_output=True, text=True, check=True)
functions = json.loads(said.stdout)
calls = []
for function in functions:
    for scalar, dtype in TYPES.items():
        if function["operands"] > 3 or dtype not in function["types"]:
            continue
        operands = ", ".join([scalar] * function["operands"])
        calls.append(f"function.{function['name']}({operands})")
assert len(calls) > 200, len(calls)
outputs = [f"T{i + 2}" for i in range(len(calls))]
scalars = ", ".join(f"{name}: {dtype}" for name, dtype in TYPES.items())
print(f"fusion f({scalars}, T0: f64[2, 3]) -> ({', '.join(outputs)}) {{\n  T1 = sum(T0, axes=[1])")
for output, call in zip(outputs, calls):
    print(f"  {output} = add(T1, f64({call}))")
print("}")
