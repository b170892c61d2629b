"""Prints a chain of LENGTH ops: stencil (the sum of both neighbours) or cat (twice the operand)."""

import sys

kind, length = sys.argv[1], int(sys.argv[2])
print(f"fusion {kind}s(T0: f32[n]) -> T{length} {{")
for i in range(1, length + 1):
    x = f"T{i - 1}"
    value = f"add(pad({x}, widths=[1, -1]), pad({x}, widths=[-1, 1]))" if kind == "stencil" else f"cat([{x}, {x}], axis=0)"
    print(f"  T{i} = {value}")
print("}\nsizes { n = 10 }")
