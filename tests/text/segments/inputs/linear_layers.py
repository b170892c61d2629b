"""Prints a fusion of many layers, each a product and relu: linear_layers.py COUNT"""
import sys

count = int(sys.argv[1])
inputs = ["T0: f32[rows, width]", *(f"T{i}: f32[width, width]" for i in range(1, count + 1))]
print(f"fusion layers({', '.join(inputs)}) -> T{2 * count} {{")
for i in range(1, count + 1):
    print(f"  T{count + i} = relu(linear({f'T{count + i - 1}' if i > 1 else 'T0'}, T{i}))")
print("}\nsizes { rows = 8, width = 16 }")
